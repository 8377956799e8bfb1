declare module "*.sql?raw" {
  const text: string;
  export default text;
}

interface ImportMeta {
  glob<T>(pattern: string, options: { query: "?raw"; import: "default"; eager: true }): Record<string, T>;
}
