const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes a text for HTML, also within the quotes of an attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ESCAPES[char] ?? char)
}

/** Renders paragraphs, lists, code and bold words: all the Markdown that descriptions use. */
export function renderMarkdown(text: string): string {
  const blocks = text.split(/\n\n+/).filter((block) => block.trim() !== '')
  return blocks.map(renderBlock).join('')
}

function renderBlock(block: string): string {
  const lines = block.split('\n')
  if (!lines.every((line) => line.startsWith('- '))) return `<p>${renderInline(lines.join(' '))}</p>`
  return `<ul>${lines.map((line) => `<li>${renderInline(line.slice(2))}</li>`).join('')}</ul>`
}

/** Renders code and bold words of one line. */
export function renderInline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
}
