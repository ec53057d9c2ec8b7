/**
 * Patterns of a provider's paths: literal segments, `{name}` for one segment, and once at most `{name+}` for one or
 * more. Only the last kind leaves its length open, and a pattern has at most one of that kind, so a path is matched in
 * one walk from each end.
 *
 *     /v1/images/{model}          /{model+}/requests/{job}/status
 */
export type PathPattern = {
  readonly text: string
  readonly segments: readonly PatternSegment[]
  /** The index of the segment that matches several; -1 without one. */
  readonly openAt: number
}

type PatternSegment = { readonly literal: string } | { readonly name: string }

const MAX_PATTERN_CHARS = 200
const MAX_SEGMENTS = 16
const LITERAL = /^[A-Za-z0-9][\w.~:-]{0,79}$/
const NAMED = /^\{([a-z][A-Za-z0-9]{0,31})(\+?)\}$/
/**
 * A valid segment of a requested path: nothing escaped, no dot segment, nothing that a server might rewrite. Some
 * servers remove path parameters first, so `..;x` is a dot segment to them.
 */
const ASKED_SEGMENT = /^(?!\.{1,2}(?:;|$))[\w.~:@!$&'()*,;=+-]{1,256}$/
const MAX_ASKED_CHARS = 2_048

/** Parses a pattern. Undefined when the text is no pattern. `/` alone is the empty path. */
export function parsePathPattern(text: string): PathPattern | undefined {
  if (text.length > MAX_PATTERN_CHARS || !text.startsWith('/')) return undefined
  const parts = text === '/' ? [] : text.slice(1).split('/')
  if (parts.length > MAX_SEGMENTS) return undefined
  const segments: PatternSegment[] = []
  const names = new Set<string>()
  let openAt = -1
  for (const [at, part] of parts.entries()) {
    const [, name, isOpen] = NAMED.exec(part) ?? []
    if (name === undefined) {
      if (!LITERAL.test(part)) return undefined
      segments.push({ literal: part })
      continue
    }
    if (names.has(name) || (isOpen === '+' && openAt >= 0)) return undefined
    names.add(name)
    if (isOpen === '+') openAt = at
    segments.push({ name })
  }
  return { text, segments, openAt }
}

/** True when every segment of a path is plain: `/a/b`, with nothing escaped, empty or of dots. `/` is plain too. */
export function isPlainPath(path: string): boolean {
  if (path.length > MAX_ASKED_CHARS || !path.startsWith('/')) return false
  return (
    path === '/' ||
    path
      .slice(1)
      .split('/')
      .every((segment) => ASKED_SEGMENT.test(segment))
  )
}

/** The captures of a pattern in a path. Undefined where the path is not plain or does not fit. */
export function matchPath(pattern: PathPattern, path: string): Readonly<Record<string, string>> | undefined {
  if (!isPlainPath(path)) return undefined
  const { segments, openAt } = pattern
  const pathSegments = path === '/' ? [] : path.slice(1).split('/')
  const spare = pathSegments.length - segments.length
  if (openAt < 0 ? spare !== 0 : spare < 0) return undefined
  const captures: Record<string, string> = Object.create(null)
  for (const [at, segment] of segments.entries()) {
    const from = openAt >= 0 && at > openAt ? at + spare : at
    const text = at === openAt ? pathSegments.slice(from, from + spare + 1).join('/') : (pathSegments[from] ?? '')
    if ('name' in segment) captures[segment.name] = text
    else if (segment.literal !== text) return undefined
  }
  return captures
}

/** The path of a pattern with captures filled in. Undefined where one is missing or would not be plain. */
export function fillPath({ segments }: PathPattern, captures: Readonly<Record<string, string>>): string | undefined {
  const parts: string[] = []
  for (const segment of segments) {
    const part = 'literal' in segment ? segment.literal : captures[segment.name]
    if (part === undefined) return undefined
    parts.push(part)
  }
  const path = `/${parts.join('/')}`
  return isPlainPath(path) ? path : undefined
}
