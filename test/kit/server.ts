import { inject } from "vitest";
import * as cli from "../../src/cli/server.ts";

export type Server = cli.Server;

/** A server whose tables are there already (test/e2e/setup.ts). */
export const startServer = (options: cli.ServerOptions = {}): Promise<Server> => cli.startServer({ tables: inject("tables"), ...options });
