// What `ai` gets when it imports "@ai-sdk/gateway" in the Worker (see [alias] in wrangler.toml): Vercel's AI Gateway,
// which answers for a model that is named by a string alone. Models here are objects, so the 22 KiB of gzip would
// never run. A test compares this list with what `ai` imports.

/** The provider of models that are named by a string: there is none. */
export const gateway = {
  specificationVersion: "v4",
  languageModel(modelId: string): never {
    throw new Error(`No provider answers for the model "${modelId}": models are given as objects here.`);
  },
};

export const createGateway = (): typeof gateway => gateway;

/** The gateway's errors are thrown by nobody. */
export class GatewayError extends Error {
  static isInstance(_error: unknown): boolean {
    return false;
  }
}

export class GatewayAuthenticationError extends GatewayError {}
