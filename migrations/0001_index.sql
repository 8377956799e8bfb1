-- The index across all conversations. The truth about one conversation is in its Durable Object; rows come
-- here through its outbox, and each statement is refused when the row is as new already (`version`).
-- Times are integer milliseconds UTC. JSON columns hold JSON text.

CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  title TEXT NOT NULL,
  skill TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('idle', 'running', 'paused')),
  pause_point_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  version INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE members (
  person TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'approver', 'viewer')),
  removed INTEGER NOT NULL CHECK (removed IN (0, 1)),
  version INTEGER NOT NULL,
  PRIMARY KEY (person, conversation_id)
) WITHOUT ROWID;

CREATE TABLE pause_points (
  id TEXT PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  turn_index INTEGER NOT NULL,
  step_index INTEGER NOT NULL,
  tool_call_id TEXT NOT NULL,
  action TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('approval', 'choice', 'data_entry', 'clarification', 'recovery')),
  title TEXT NOT NULL,
  summary TEXT NOT NULL,
  description TEXT NOT NULL,
  options TEXT,
  payload TEXT,
  payload_schema TEXT,
  risk TEXT NOT NULL CHECK (risk IN ('low', 'medium', 'high')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'cancelled')),
  version INTEGER NOT NULL,
  decision TEXT CHECK (decision IN ('approve', 'reject')),
  payload_override TEXT,
  choice TEXT,
  reply TEXT,
  decided_by TEXT,
  decided_device TEXT,
  decided_via TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  decided_at INTEGER,
  on_expiry TEXT NOT NULL CHECK (on_expiry IN ('continue', 'halt'))
) WITHOUT ROWID;

CREATE INDEX pause_points_by_conversation ON pause_points (conversation_id, state);
