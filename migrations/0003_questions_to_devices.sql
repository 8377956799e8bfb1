-- A pause point that only one person may answer, with one of their devices.
ALTER TABLE pause_points ADD COLUMN for_person TEXT;
