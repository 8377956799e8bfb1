import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { preloadMarkdown } from "./components/Markdown.js";
import "./styles/tokens.css";
import "./styles/card.css";
import "./styles/app.css";

const root = document.getElementById("root");
if (!root) throw new Error("The page has no root element");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

setTimeout(preloadMarkdown, 0);
