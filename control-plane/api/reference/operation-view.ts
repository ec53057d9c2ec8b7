import type { DescribedOperation, Origins, PlacedOperation } from './document.ts'
import { curlOf, exampleOf, renderTry } from './example-call.ts'
import { escapeHtml, renderInline, renderMarkdown } from './markup.ts'
import { renderSchema, typeOf } from './schema-view.ts'

/** Renders one operation: its callers, input, answers and refusals. */
export function renderOperation(placed: PlacedOperation, origins: Origins): string {
  const { method, path, operation } = placed
  const { operationId, summary, description } = operation
  const call = exampleOf(placed)
  return `<article class="operation" id="${operationId}">
<h3><a href="#${operationId}"><span class="verb ${method}">${method}</span> <code>${breakable(path)}</code></a></h3>
<p class="summary">${renderInline(summary)}</p>
${description === '' ? '' : renderMarkdown(description)}
<p class="who">${whoCalls(operation)}</p>
${renderParameters(operation)}
${renderBody(operation)}
${renderAnswers(operation)}
<details><summary>curl</summary><pre tabindex="0"><code>${escapeHtml(curlOf(call, origins))}</code></pre></details>
${renderTry(call)}
</article>`
}

/** Lets a path break at its slashes on a narrow screen. */
function breakable(path: string): string {
  return escapeHtml(path).replaceAll('/', '/<wbr>')
}

function whoCalls({ security }: DescribedOperation): string {
  if (security.length === 0) return 'Anybody.'
  return `With ${security.flatMap((way) => Object.keys(way).map((name) => `<code>${escapeHtml(name)}</code>`)).join(' or ')}.`
}

function renderParameters({ parameters }: DescribedOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const must = required ? '' : ' <span class="optional">optional</span>'
    const descriptionHtml = description === '' ? '' : `<div class="said">${renderInline(description)}</div>`
    const kind = `<span class="kind">${place}, ${typeOf(schema)}</span>`
    return `<li><code class="name">${escapeHtml(name)}</code> ${kind}${must}${descriptionHtml}</li>`
  })
  return `<h4>Parameters</h4><ul class="members">${rows.join('')}</ul>`
}

function renderBody({ requestBody }: DescribedOperation): string {
  if (requestBody === undefined) return ''
  const parts = Object.entries(requestBody.content).map(
    ([type, { schema }]) =>
      `<p><span class="kind">${escapeHtml(type)}</span> ${isNamed(schema) ? typeOf(schema) : ''}</p>${renderSchema(schema)}`,
  )
  return `<h4>Body</h4>${parts.join('')}`
}

function renderAnswers({ responses }: DescribedOperation): string {
  const good = Object.entries(responses).flatMap(([status, answer]) => {
    if ('$ref' in answer) return []
    const parts = Object.entries(answer.content).map(
      ([type, { schema }]) =>
        `<p><span class="kind">${escapeHtml(type)}</span> ${isNamed(schema) ? typeOf(schema) : ''}</p>${renderSchema(schema)}`,
    )
    return [`<h4>${status}: ${renderInline(answer.description)}</h4>${parts.join('')}`]
  })
  const refusals = Object.entries(responses).flatMap(([status, answer]) =>
    '$ref' in answer ? [`<a href="#refusal-${answer.$ref.split('/').at(-1) ?? ''}">${status}</a>`] : [],
  )
  return `${good.join('')}<p class="refused">Refused with ${refusals.join(', ')}.</p>`
}

function isNamed(schema: Readonly<Record<string, unknown>>): boolean {
  return '$ref' in schema || !('properties' in schema)
}
