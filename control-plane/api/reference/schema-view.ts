import { isRecord } from '#shared/json-members.ts'
import type { Schema } from './document.ts'
import { escapeHtml, renderInline } from './markup.ts'

/** The deepest level of members that are shown in place. A named schema is a link. */
const MAX_DEPTH = 5
const REF = '#/components/schemas/'

/** Shows a schema as a list of its members, or as one word when it has none. */
export function renderSchema(schema: Schema, depth = 0): string {
  const { properties } = schema
  const inner = depth > MAX_DEPTH ? undefined : properties
  if (!isRecord(inner) || Object.keys(inner).length === 0) {
    const items = schema['items']
    return isRecord(items) && isRecord(items['properties']) && depth <= MAX_DEPTH ? renderSchema(items, depth + 1) : ''
  }
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const rows = Object.entries(inner).map(([name, part]) =>
    isRecord(part) ? renderMember(name, part, required.includes(name), depth) : '',
  )
  return `<ul class="members">${rows.join('')}</ul>`
}

function renderMember(name: string, schema: Schema, isRequired: boolean, depth: number): string {
  const description = typeof schema['description'] === 'string' ? renderInline(schema['description']) : ''
  const must = isRequired ? '' : ' <span class="optional">optional</span>'
  const head = `<code class="name">${escapeHtml(name)}</code> <span class="kind">${typeOf(schema)}</span>${must}`
  const descriptionHtml = description === '' ? '' : `<div class="said">${description}</div>`
  return `<li>${head}${descriptionHtml}${renderSchema(schema, depth + 1)}</li>`
}

/** The type of a value in words. A named schema is a link. */
export function typeOf(schema: Schema): string {
  const { $ref: ref, items, enum: choices, const: only, type } = schema
  if (typeof ref === 'string') return linkTo(ref)
  if (only !== undefined) return `<code>${escapeHtml(JSON.stringify(only))}</code>`
  if (Array.isArray(choices)) return choices.map((choice) => `<code>${escapeHtml(String(choice))}</code>`).join(' | ')
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) {
    const kinds = options.map((option: unknown) => (isRecord(option) ? typeOf(option) : ''))
    return [...new Set(kinds)].filter((kind) => kind !== '').join(' or ')
  }
  if (type === 'array' && isRecord(items)) return `list of ${typeOf(items)}`
  if (Array.isArray(type)) return type.map(String).join(' or ')
  return `${typeof type === 'string' ? type : 'anything'}${rangeOf(schema)}`
}

function rangeOf({ minimum, maximum }: Schema): string {
  if (typeof minimum === 'number' && typeof maximum === 'number') return ` ${minimum}–${maximum}`
  if (typeof minimum === 'number') return ` ≥ ${minimum}`
  return typeof maximum === 'number' ? ` ≤ ${maximum}` : ''
}

function linkTo(ref: string): string {
  const name = escapeHtml(ref.slice(REF.length))
  return `<a href="#schema-${name}">${name}</a>`
}
