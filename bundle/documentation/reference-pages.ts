import type { DocOperation, DocPlace, OperationGroup } from '#control-plane/dashboard/market/docs/doc-page.ts'
import { REFERENCE } from '#control-plane/dashboard/market/docs/doc-page.ts'
import { isRecord } from '#shared/json-members.ts'
import type { DescribedOperation, Description, PlacedOperation, Schema } from './description.ts'
import { answerText } from './example-answer.ts'
import type { ExampleCall } from './example-call.ts'
import { codeOf, consoleOf, exampleOf, fenced } from './example-call.ts'
import type { Marked } from './schema-lines.ts'
import { memberLines, typeOf } from './schema-lines.ts'

/** A page of the reference, before its Markdown is read. */
export type ReferencePage = {
  /** The path below `/docs/`. */
  readonly name: string
  readonly markdown: string
}

/** All operations of the description, in the order of its chapters. */
function placedOperations({ paths, tags }: Description): readonly PlacedOperation[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  return tags.flatMap(({ name }) => all.filter(({ operation }) => operation.tags[0] === name))
}

/** Ends of a summary that name another path of the same operation. */
const OTHER_PATH = /(?:, with a minimum discount| \(second path\))$/

/**
 * The operations by chapter, each once. Paths that do the same, such as those with a minimum discount in them, are
 * places of one operation.
 */
export function operationGroups(description: Description): readonly Omit<OperationGroup, 'id'>[] {
  const all = placedOperations(description)
  return description.tags.map(({ name, description: about }) => {
    const operations = new Map<string, DocOperation>()
    for (const { method, path, operation } of all.filter((placed) => placed.operation.tags[0] === name)) {
      const label = operation.summary.replace(OTHER_PATH, '')
      const place = { to: `${REFERENCE}/${operation.operationId}`, method, path }
      operations.set(label, { label, places: [...(operations.get(label)?.places ?? []), place] })
    }
    return { title: name, about, operations: [...operations.values()] }
  })
}

/** A page for each operation and each named schema, and the page that lists them. */
export function referencePages(description: Description): readonly ReferencePage[] {
  const operations = placedOperations(description)
  return [
    { name: 'reference', markdown: listOf(description) },
    ...operations.map((placed) => ({
      name: `reference/${placed.operation.operationId}`,
      markdown: operationPage(placed, description),
    })),
    ...Object.entries(description.components.schemas).map(([name, schema]) => ({
      name: `reference/schemas/${name}`,
      markdown: schemaPage(name, schema),
    })),
  ]
}

function listOf(description: Description): string {
  const { info, components } = description
  const ways = Object.entries(components.securitySchemes).map(
    ([name, { description: about }]) => `- \`${name}\`: ${about}`,
  )
  const chapters = operationGroups(description).map(({ title, about, operations }) => {
    const lines = operations.map(({ label, places: [first, ...others] }) => {
      const also = others.map((place) => `[${codeOfPlace(place)}](${place.to})`)
      const usual = first === undefined ? '' : `[${label}](${first.to}) ${codeOfPlace(first)}`
      return `- ${usual}${also.length === 0 ? '' : `, also ${also.join(', ')}`}`
    })
    return `## ${title}\n\n${about}\n\n${lines.join('\n')}`
  })
  return `# API reference

${info.description}

Calls go to \`{api_base_url}\`. The same as one file: [openapi.json](/openapi.json). Agents read [llms.txt](/llms.txt),
and add \`.md\` to the address of any page here for its Markdown.

## Authentication

${ways.join('\n')}

${chapters.join('\n\n')}
`
}

function codeOfPlace({ method, path }: DocPlace): string {
  return `\`${method.toUpperCase()} ${path}\``
}

/** The other paths of the same operation, as a line. Empty when it has none. */
function otherPlaces(operationId: string, description: Description): string {
  const here = `${REFERENCE}/${operationId}`
  const places = operationGroups(description)
    .flatMap(({ operations }) => operations.map((operation) => operation.places))
    .find((all) => all.some(({ to }) => to === here))
  const others = (places ?? []).filter(({ to }) => to !== here).map((place) => `[${codeOfPlace(place)}](${place.to})`)
  return others.length === 0 ? '' : `Also at ${others.join(', ')}.`
}

function operationPage(placed: PlacedOperation, description: Description): string {
  const { method, path, operation } = placed
  const call = exampleOf(placed)
  const facts = consoleOf(call)
  const parts = [
    `# ${operation.summary}`,
    fenced('http', `${method.toUpperCase()} ${path}`),
    otherPlaces(operation.operationId, description),
    operation.description,
    whoCalls(operation),
    `## Example\n\n${codeOf(call)}`,
    facts === undefined ? '' : fenced('console', facts),
    exampleAnswer(operation, call.body, description),
    parameterLines(operation),
    bodyLines(operation, description),
    answerLines(operation, description),
    refusalLines(operation, description),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** The answer of a call that went well, as JSON. Empty for files, streams and empty answers. */
function exampleAnswer({ responses }: DescribedOperation, body: ExampleCall['body'], description: Description): string {
  const good = Object.values(responses).find((answer) => !('$ref' in answer))
  const schema = good === undefined || '$ref' in good ? undefined : good.content['application/json']?.schema
  if (schema === undefined) return ''
  return `## Example response\n\n${fenced('json', answerText(schema, body === 'none' || body === 'form' ? undefined : body.json, description))}`
}

const CALLERS: Readonly<Record<string, string>> = {
  buyerKey: 'a buyer key (`inf_…`)',
  sellerKey: 'a seller key (`mkt_seller_…`)',
  managementKey: 'a management key (`mkt_mgmt_…`)',
  messagesKey: 'a buyer key as `x-api-key`',
  session: 'a signed-in session',
}

function whoCalls({ security }: DescribedOperation): string {
  const ways = security.flatMap((way) => Object.keys(way).map((name) => CALLERS[name] ?? name))
  return ways.length === 0 ? '**Needs no key.**' : `**Needs** ${[...new Set(ways)].join(' or ')}.`
}

function parameterLines({ parameters }: DescribedOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const kind = `${place}, ${typeOf(schema)}${required ? ', required' : ''}`
    return `- \`${name}\` *${kind}*${description === '' ? '' : `: ${description}`}`
  })
  return `## Parameters\n\n${rows.join('\n')}`
}

function bodyLines({ requestBody }: DescribedOperation, description: Description): string {
  if (requestBody === undefined) return ''
  return `## Request body\n\n${contentLines(requestBody.content, description, 'required')}`
}

type ContentOf = NonNullable<DescribedOperation['requestBody']>['content']

function contentLines(content: ContentOf, description: Description, marked: Marked): string {
  const parts = Object.entries(content).map(([type, { schema }]) => {
    const named = '$ref' in schema || !('properties' in schema) ? `: ${typeOf(schema)}` : ''
    return `\`${type}\`${named}\n\n${memberLines(resolved(schema, description), marked).join('\n')}`
  })
  return parts.join('\n\n')
}

/** A named schema with its members, so that a page can be read without a second one. */
function resolved(schema: Schema, { components }: Description): Schema {
  const { $ref: ref } = schema
  if (typeof ref !== 'string') return schema
  return components.schemas[ref.split('/').at(-1) ?? ''] ?? schema
}

function answerLines({ responses }: DescribedOperation, description: Description): string {
  const good = Object.entries(responses).flatMap(([status, answer]) => {
    if ('$ref' in answer) return []
    const about = answer.description === 'The answer.' ? '' : `${answer.description}\n\n`
    return [`## Response ${status}\n\n${about}${contentLines(answer.content, description, 'optional')}`]
  })
  return good.join('\n\n')
}

/** Most codes that an operation lists for one status. */
const MAX_CODES = 6

function refusalLines({ responses }: DescribedOperation, { components }: Description): string {
  const refusals = Object.entries(responses).flatMap(([status, answer]) => {
    if (!('$ref' in answer)) return []
    const about = components.responses[answer.$ref.split('/').at(-1) ?? '']?.description ?? ''
    const [first = ''] = about.split('\n\n')
    const codes = [...about.matchAll(/^- `(\w+)`/gm)].map(([, code = '']) => `[\`${code}\`](/docs/errors#${code})`)
    // Many codes of one status are those of other operations.
    return [`- \`${status}\`: ${first}${codes.length > 0 && codes.length <= MAX_CODES ? ` ${codes.join(', ')}` : ''}`]
  })
  if (refusals.length === 0) return ''
  return `## Errors\n\n${refusals.join('\n')}\n\nThe [error catalogue](/docs/errors) has every code and what to do about it.`
}

function schemaPage(name: string, schema: Schema): string {
  const about = isRecord(schema) && typeof schema['description'] === 'string' ? `${schema['description']}\n\n` : ''
  const lines = memberLines(schema)
  return `# ${name}\n\n${about}${lines.length === 0 ? `*${typeOf(schema)}*` : lines.join('\n')}\n`
}
