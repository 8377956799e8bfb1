import type { Environment } from "./connection.js";

/** The environment of a browser page. */
export const pageEnvironment: Environment = {
  online: () => navigator.onLine,
  visible: () => document.visibilityState === "visible",
  onChange(listener) {
    const online = () => listener("online");
    const offline = () => listener("offline");
    const visibility = () => listener(document.visibilityState === "visible" ? "shown" : "hidden");
    window.addEventListener("online", online);
    window.addEventListener("offline", offline);
    document.addEventListener("visibilitychange", visibility);
    return () => {
      window.removeEventListener("online", online);
      window.removeEventListener("offline", offline);
      document.removeEventListener("visibilitychange", visibility);
    };
  },
};
