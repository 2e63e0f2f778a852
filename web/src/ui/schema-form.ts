/** Fields for a flat JSON schema: an object of texts, numbers, choices and switches. */

import { html, nothing, type TemplateResult } from "lit";
import { t } from "../languages/language.js";

interface Property {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
}

interface FlatSchema {
  readonly properties: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

const TYPES = new Set(["string", "number", "integer", "boolean"]);
const MAX_FIELDS = 20;

/** Return the schema if it is flat; for any other, a value is written as JSON. */
export function flatSchema(schema: unknown): FlatSchema | null {
  const { type, properties } = (schema ?? {}) as { type?: string; properties?: unknown };
  if (type !== "object" || typeof properties !== "object" || properties === null) return null;
  const all = Object.values(properties as Readonly<Record<string, Property>>);
  const isFlat = all.every((one) => typeof one === "object" && one !== null && (isChoice(one) || TYPES.has(one.type ?? "")));
  return all.length > 0 && all.length <= MAX_FIELDS && isFlat ? (schema as FlatSchema) : null;
}

const isChoice = (one: Property): boolean => Array.isArray(one.enum) && one.enum.every((value) => typeof value === "string");

export function schemaFields({ properties, required = [] }: FlatSchema): TemplateResult {
  return html`${Object.entries(properties).map(([name, one]) => {
    const label = html`${one.title ?? name}${required.includes(name) ? nothing : t.optional}`;
    const field = fieldOf(name, one, required.includes(name));
    const more = one.description ? html`<span class="hint">${one.description}</span>` : nothing;
    return one.type === "boolean" ? html`<label class="switch">${field}${label}${more}</label>` : html`<label>${label}${field}${more}</label>`;
  })}`;
}

function fieldOf(name: string, one: Property, isRequired: boolean): TemplateResult {
  const given = one.default === undefined ? "" : String(one.default);
  if (isChoice(one)) {
    return html`<select data-field=${name} ?required=${isRequired}>
      ${isRequired ? nothing : html`<option value=""></option>`}${one.enum?.map((value) => html`<option ?selected=${value === one.default}>${value}</option>`)}
    </select>`;
  }
  if (one.type === "boolean") return html`<input type="checkbox" data-field=${name} .defaultChecked=${one.default === true} />`;
  const isNumber = one.type === "number" || one.type === "integer";
  return html`<input type=${isNumber ? "number" : "text"} step=${one.type === "number" ? "any" : nothing} data-field=${name} ?required=${isRequired}
    autocomplete="off" .defaultValue=${given} />`;
}

/** Return the value that was filled in, without fields that were left empty. */
export function schemaValue(form: ParentNode, { properties }: FlatSchema): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-field]")) {
    const name = field.dataset["field"] ?? "";
    const { type } = properties[name] ?? {};
    if (type === "boolean") value[name] = (field as HTMLInputElement).checked;
    else if (field.value !== "") value[name] = type === "number" || type === "integer" ? Number(field.value) : field.value;
  }
  return value;
}
