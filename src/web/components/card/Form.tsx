import { useId, type ReactNode } from "react";
import type { Json } from "../../../protocol/json.js";
import { canonicalJson } from "../../../protocol/canonical.js";
import { blank, isObject, own, type FormNode } from "../../lib/schema-form.js";
import { pathKey, readJson, readNumber, setValue, typeText, valueAt, type Editor, type Path } from "../../lib/editor.js";
import { countOdd } from "../../lib/odd-characters.js";
import { PlainText } from "../PlainText.js";
import { brief, spread } from "./Fields.js";

interface Props {
  editor: Editor;
  onChange(editor: Editor): void;
  form: FormNode;
  /** The whole payload as JSON text, for what fields can't say. */
  asJson: boolean;
  disabled?: boolean;
}

/** The payload as controls. Every value keeps its type; what can't be read is not taken (C54). */
export function Form({ editor, onChange, form, asJson, disabled = false }: Props) {
  if (asJson || form.kind !== "object") {
    return (
      <dl className="tag-fields">
        <div className="wide">
          <dt>Input as JSON</dt>
          <dd>
            <Control editor={editor} onChange={onChange} node={asJson ? { kind: "json" } : form} path={[]} name="Input as JSON" disabled={disabled} />
          </dd>
        </div>
      </dl>
    );
  }
  const wide = spread(form.fields.map(({ key, node }) => isWide(node, valueAt(editor.value, [key]))));
  return (
    <dl className="tag-fields">
      {form.fields.map(({ key, title, required, node }, index) => (
        <FieldRow key={key} wide={wide[index] ?? true} editor={editor} onChange={onChange} node={node} path={[key]} title={title} required={required} disabled={disabled} />
      ))}
    </dl>
  );
}

function FieldRow({ editor, onChange, node, path, title, required, wide, disabled }: ControlProps & { title: string; required: boolean; wide: boolean }) {
  const before = valueAt(editor.original, path);
  const value = valueAt(editor.value, path);
  const changed = (before === undefined) !== (value === undefined) || canonicalJson(before) !== canonicalJson(value);
  const error = editor.errors[pathKey(path)];
  return (
    <div className={[wide && "wide", changed && "changed"].filter(Boolean).join(" ") || undefined}>
      <dt>
        <span>
          <PlainText text={title} />
        </span>
        {changed && <span className="edited">changed</span>}
      </dt>
      <dd>
        {value === undefined ? (
          <button type="button" className="link" disabled={disabled} onClick={() => onChange(setValue(editor, path, blank(node)))}>
            Set {title}
          </button>
        ) : (
          <Control editor={editor} onChange={onChange} node={node} path={path} name={title} disabled={disabled} />
        )}
        {node.description && (
          <small>
            <PlainText text={node.description} />
          </small>
        )}
        {error && (
          <span className="fault" role="alert">
            {error}
          </span>
        )}
        {changed && (
          <span className="was">
            was <s>{before === undefined ? "not set" : <PlainText text={brief(before)} />}</s> ·{" "}
            <button type="button" className="link" disabled={disabled} onClick={() => onChange(setValue(editor, path, before))}>
              Reset
            </button>
          </span>
        )}
        {!required && value !== undefined && !changed && (
          <span className="was">
            optional ·{" "}
            <button type="button" className="link" disabled={disabled} onClick={() => onChange(setValue(editor, path, undefined))}>
              Leave out
            </button>
          </span>
        )}
      </dd>
    </div>
  );
}

const isWide = (node: FormNode, value: Json | undefined): boolean =>
  node.kind === "object" || node.kind === "array" || node.kind === "json" || (typeof value === "string" && (value.length > 32 || value.includes("\n")));

interface ControlProps {
  editor: Editor;
  onChange(editor: Editor): void;
  node: FormNode;
  path: Path;
  disabled: boolean;
}

function Control(props: ControlProps & { name: string }): ReactNode {
  const { editor, onChange, node, path, name, disabled } = props;
  const value = valueAt(editor.value, path);
  const typed = editor.texts[pathKey(path)];
  const set = (next: Json) => onChange(setValue(editor, path, next));
  const mismatch = value !== undefined && !fits(node, value);
  switch (mismatch ? "json" : node.kind) {
    case "string":
      return <TextControl name={name} value={String(value ?? "")} disabled={disabled} onChange={set} />;
    case "number":
      return (
        <input
          aria-label={name}
          inputMode="decimal"
          autoComplete="off"
          disabled={disabled}
          value={typed ?? JSON.stringify(value ?? 0)}
          aria-invalid={pathKey(path) in editor.errors || undefined}
          onChange={(event) => onChange(typeText(editor, path, event.target.value, (text) => readNumber(text, node.kind === "number" && node.integer)))}
        />
      );
    case "boolean":
      return (
        <label className="tick">
          <input type="checkbox" aria-label={name} disabled={disabled} checked={value === true} onChange={(event) => set(event.target.checked)} />
          {value === true ? "true" : "false"}
        </label>
      );
    case "enum":
      return node.kind === "enum" ? <Select name={name} values={node.values} value={value} disabled={disabled} onChange={set} /> : null;
    case "nullable":
      if (node.kind !== "nullable") return null;
      return (
        <>
          <label className="tick">
            <input
              type="checkbox"
              aria-label={`${name}: nothing (null)`}
              disabled={disabled}
              checked={value === null}
              onChange={(event) => set(event.target.checked ? null : blank(node.inner))}
            />
            nothing (null)
          </label>
          {value !== null && <Control {...props} node={node.inner} />}
        </>
      );
    case "object":
      if (node.kind !== "object") return null;
      return (
        <div className="nest" role="group" aria-label={name}>
          {node.fields.map((field) => (
            <FieldRow
              key={field.key}
              editor={editor}
              onChange={onChange}
              node={field.node}
              path={[...path, field.key]}
              title={field.title}
              required={field.required}
              wide
              disabled={disabled}
            />
          ))}
        </div>
      );
    case "array":
      return node.kind === "array" ? <Items {...props} item={node.item} /> : null;
    case "json":
      return <JsonControl {...props} />;
  }
}

function TextControl({ name, value, disabled, onChange }: { name: string; value: string; disabled: boolean; onChange(value: string): void }) {
  const lines = value.split("\n").length;
  const odd = countOdd(value);
  return (
    <>
      {value.length > 60 || lines > 1 ? (
        <textarea
          className="tag-text"
          aria-label={name}
          rows={Math.min(10, Math.max(lines, Math.ceil(value.length / 60)))}
          disabled={disabled}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <input aria-label={name} autoComplete="off" disabled={disabled} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
      {odd > 0 && (
        <small>
          Contains hidden characters: <PlainText text={value.slice(0, 400)} />
        </small>
      )}
    </>
  );
}

function Select({ name, values, value, disabled, onChange }: { name: string; values: Json[]; value: Json | undefined; disabled: boolean; onChange(value: Json): void }) {
  const chosen = values.findIndex((option) => canonicalJson(option) === canonicalJson(value));
  return (
    <select aria-label={name} disabled={disabled} value={chosen} onChange={(event) => onChange(values[Number(event.target.value)] ?? null)}>
      {chosen === -1 && <option value={-1}>{brief(value ?? null)}</option>}
      {values.map((option, index) => (
        <option key={index} value={index}>
          {typeof option === "string" ? option : JSON.stringify(option)}
        </option>
      ))}
    </select>
  );
}

function Items(props: ControlProps & { name: string; item: FormNode }) {
  const { editor, onChange, path, name, item, disabled } = props;
  const value = valueAt(editor.value, path);
  const items = Array.isArray(value) ? value : [];
  return (
    <div className="nest" role="group" aria-label={name}>
      {items.map((_, index) => (
        <div key={index} className="item">
          <div>
            <Control {...props} node={item} path={[...path, index]} name={`${name} ${index + 1}`} />
            {editor.errors[pathKey([...path, index])] && (
              <span className="fault" role="alert">
                {editor.errors[pathKey([...path, index])]}
              </span>
            )}
          </div>
          <button
            type="button"
            className="link"
            disabled={disabled}
            aria-label={`Remove ${name} ${index + 1}`}
            onClick={() => onChange(setValue(editor, path, items.toSpliced(index, 1)))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" className="link" disabled={disabled} onClick={() => onChange(setValue(editor, path, [...items, blank(item)]))}>
        Add to {name}
      </button>
    </div>
  );
}

function JsonControl({ editor, onChange, path, name, disabled }: ControlProps & { name: string }) {
  const id = useId();
  const key = pathKey(path);
  const value = valueAt(editor.value, path);
  const text = editor.texts[key] ?? JSON.stringify(value ?? null, null, 2);
  const error = path.length === 0 ? editor.errors[key] : undefined;
  return (
    <>
      <textarea
        className="tag-text mono"
        aria-label={name}
        aria-describedby={error ? id : undefined}
        aria-invalid={key in editor.errors || undefined}
        spellCheck={false}
        rows={Math.min(14, Math.max(2, text.split("\n").length))}
        disabled={disabled}
        value={text}
        onChange={(event) => onChange(typeText(editor, path, event.target.value, readJson))}
      />
      {error && (
        <span className="fault" role="alert" id={id}>
          {error}
        </span>
      )}
    </>
  );
}

// A stored value that is not of its schema's type is shown as it is, never coerced into a control.
function fits(node: FormNode, value: Json): boolean {
  switch (node.kind) {
    case "string":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "object":
      return isObject(value) && node.fields.every(({ key, node: field }) => own(value, key) === undefined || field.kind !== "object" || isObject(own(value, key)));
    case "array":
      return Array.isArray(value);
    case "enum":
    case "nullable":
    case "json":
      return true;
  }
}
