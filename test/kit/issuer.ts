import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";

/** A team of Cloudflare Access on loopback: it publishes real keys where Access does, and signs with them. */
export class AccessTeam {
  /** Public keys as they are published now. */
  published: JWK[] = [];
  /** How often the keys were asked for. */
  asked = 0;
  /** What is answered instead of the keys. */
  broken: { status: number; body: string } | null = null;
  #keys: { kid: string; privateKey: CryptoKey } | null = null;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<AccessTeam> {
    const server = createServer((request, response) =>
      team.#answer(request.url ?? "", (status, body) => response.writeHead(status, { "content-type": "application/json" }).end(body)),
    );
    const team = new AccessTeam(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await team.rotate("first");
    return team;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Signs with a new key from now on, and publishes it beside the older ones. */
  async rotate(kid: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair("RS256");
    this.published = [...this.published, { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" }];
    this.#keys = { kid, privateKey };
  }

  /** A token as Access makes it, valid for an hour; `claims` replace its own. */
  sign(claims: Record<string, unknown> = {}, header: { kid?: string } = {}): Promise<string> {
    if (!this.#keys) throw new Error("no key");
    const now = Math.floor(Date.now() / 1000);
    const payload = { iss: this.issuer, aud: ["the-app"], sub: "7f3c", email: "Ana@example.com", iat: now, nbf: now, exp: now + 3600, type: "app", ...claims };
    return new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: this.#keys.kid, ...header }).sign(this.#keys.privateKey);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer(path: string, reply: (status: number, body: string) => void): void {
    if (path !== "/cdn-cgi/access/certs") return reply(404, "{}");
    this.asked += 1;
    if (this.broken) return reply(this.broken.status, this.broken.body);
    reply(200, JSON.stringify({ keys: this.published, public_cert: {}, public_certs: [] }));
  }
}
