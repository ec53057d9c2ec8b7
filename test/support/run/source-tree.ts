import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Paths of all files that git knows or would add, without fixtures. */
export const files: readonly string[] = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !path.includes('/fixtures/'))
export const sources: readonly string[] = files.filter((path) => /\.tsx?$/.test(path))
export const read = (path: string) => readFileSync(path, 'utf8')

/** Subjects of the commits after the given one. A copy without that history, such as an archive, has none. */
export function subjectsSince(commit: string): string[] {
  const log = spawnSync('git', ['log', '--format=%s', `${commit}..HEAD`], { encoding: 'utf8' })
  return log.status === 0 ? log.stdout.split('\n').filter((line) => line !== '') : []
}

const ALIASES: Record<string, string> = {
  '#bundle/': 'bundle/',
  '#shared/': 'shared/',
  '#data-plane/': 'data-plane/',
  '#control-plane/': 'control-plane/',
  '#dev/': 'dev/',
  '#test/': 'test/',
}

/** An import or re-export. An import of types only does not exist at run time. */
export type Import = { readonly specifier: string; readonly isType: boolean }

export function importsOf(text: string): Import[] {
  const from = [...text.matchAll(/(?:^|\n)\s*(?:import|export)\b(\s+type\b)?[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/g)]
  const bare = [...text.matchAll(/(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g)]
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)]
  return [
    ...from.map(([, type, specifier = '']) => ({ specifier, isType: type !== undefined })),
    ...[...bare, ...dynamic].map(([, specifier = '']) => ({ specifier, isType: false })),
  ]
}

/** The path inside the tree that a specifier names; undefined for a package. */
export function treePath(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('./')) return `${from.slice(0, from.lastIndexOf('/') + 1)}${specifier.slice(2)}`
  for (const [alias, folder] of Object.entries(ALIASES)) {
    if (specifier.startsWith(alias)) return folder + specifier.slice(alias.length)
  }
  return undefined
}

export type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** The imports of each source file: by value, or by value or type. */
export function importGraph(counts: 'values' | 'values and types'): Graph {
  return new Map(
    sources.map((file) => {
      const counted = importsOf(read(file)).filter(({ isType }) => counts === 'values and types' || !isType)
      return [file, new Set(counted.flatMap(({ specifier }) => treePath(file, specifier) ?? []))]
    }),
  )
}

const folders = new Set(sources.map(dirname))
const parents = new Set([...folders].filter((folder) => [...folders].some((other) => other.startsWith(`${folder}/`))))

/** The room of a file: its folder when that has no subfolders, otherwise the file itself. */
export function roomOf(file: string): string {
  return parents.has(dirname(file)) ? file : dirname(file)
}

/** The same graph between rooms. */
export function roomGraph(graph: Graph): Graph {
  const rooms = new Map<string, Set<string>>()
  for (const [file, targets] of graph) {
    const room = rooms.get(roomOf(file)) ?? new Set()
    rooms.set(roomOf(file), room)
    for (const target of targets) if (roomOf(target) !== roomOf(file)) room.add(roomOf(target))
  }
  return rooms
}

/** Groups of nodes that all reach one another. A graph without circles has none. */
export function circlesOf(graph: Graph): string[][] {
  const order: string[] = []
  const seen = new Set<string>()
  const visit = (node: string, next: (node: string) => Iterable<string>, done: (node: string) => void): void => {
    if (seen.has(node)) return
    seen.add(node)
    for (const other of next(node)) visit(other, next, done)
    done(node)
  }
  for (const node of graph.keys())
    visit(
      node,
      (from) => graph.get(from) ?? [],
      (from) => order.push(from),
    )
  const backwards = new Map<string, string[]>()
  for (const [from, targets] of graph) {
    for (const to of targets) backwards.set(to, [...(backwards.get(to) ?? []), from])
  }
  seen.clear()
  const circles: string[][] = []
  for (const node of order.reverse()) {
    const circle: string[] = []
    visit(
      node,
      (to) => backwards.get(to) ?? [],
      (member) => circle.push(member),
    )
    if (circle.length > 1) circles.push(circle)
  }
  return circles
}

/** Beginnings of a line that continue the previous line. */
const GOES_ON = /^(?:[)\]}.?:|&+*<>=,]|&&|\|\||\?\?|else\b)/

/**
 * Counts the lines on which a statement or a member begins. The formatter puts each on a line of its own, so no parser
 * is needed. Blank lines, comments, imports, brackets and continued lines do not count. So an author near the limit
 * gains nothing by packing lines or leaving out a comment.
 */
export function countStatements(text: string): number {
  let count = 0
  let skipsUntil: RegExp | undefined
  for (const raw of text.split('\n')) {
    const line = raw.trim()
    if (skipsUntil !== undefined) {
      if (skipsUntil.test(line)) skipsUntil = undefined
    } else if (line.startsWith('/*')) {
      if (!line.includes('*/')) skipsUntil = /\*\//
    } else if (/^(?:import|export (?:type )?[{*])/.test(line)) {
      if (!/['"]$/.test(line)) skipsUntil = /from '[^']*'$/
    } else if (line !== '' && !line.startsWith('//') && !GOES_ON.test(line)) {
      count++
    }
  }
  return count
}

/**
 * The declared functions and block arrow functions of a text. The count of each includes the statements of the
 * functions inside it.
 */
export function functionsOf(text: string): { readonly head: string; readonly statements: number }[] {
  const lines = text.split('\n')
  return lines.flatMap((line, from) => {
    const head = /^(\s*)(?:(?:export )?(?:async )?function\b|(?:export )?const \w+ = .*=> \{$)/.exec(line)
    if (head === null) return []
    const end = lines.findIndex((other, at) => at >= from && other.startsWith(`${head[1]}}`))
    if (end < 0) return []
    return [{ head: line.trim(), statements: countStatements(lines.slice(from, end + 1).join('\n')) }]
  })
}

/** Matches a parameter or an alias that is the whole context of operations and not a `Pick` of it. */
const WHOLE_CTX = /:\s*(?:Readonly<)?(?:Run)?Ctx\b(?!\[)|^(?:export )?type \w+ = (?:.*[&|] )?(?:Run)?Ctx\b/gm

/**
 * The lines where a text of the services takes the whole context. An operation's `run` infers its own context and names
 * none.
 */
export function wholeContextsOf(text: string): string[] {
  return [...text.matchAll(WHOLE_CTX)].map(({ index }) => {
    const from = text.lastIndexOf('\n', index) + 1
    return text.slice(from, text.indexOf('\n', index + 1)).trim()
  })
}

const CALLS_THAT_WRITE = 'set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin'

/** The constants of a module. Each has a mark whether other modules may import it. */
function constantsOf(text: string): { readonly name: string; readonly isExported: boolean }[] {
  return [...text.matchAll(/^(export )?const (\w+)\b/gm)].map(([, exported, name = '']) => ({
    name,
    isExported: exported !== undefined,
  }))
}

/** True when a text writes to the contents of a constant: through a method, a member or an index. */
function writesTo(text: string, name: string): boolean {
  return new RegExp(
    `(?<![\\w.])${name}(?:\\.(?:${CALLS_THAT_WRITE})\\(|(?:\\.\\w+|\\[[^\\]\\n]+\\])+ (?:[-+*|&]|\\?\\?|\\|\\|)?= |(?:\\.\\w+)+(?:\\+\\+|--))`,
  ).test(text)
}

/**
 * The state that a module keeps from one call to the next, by name: each `let`, each weak collection, each constant
 * that its own text writes to, and each exported one that one of the `importers` writes to.
 */
export function stateOf(text: string, importers: readonly string[] = []): string[] {
  const variables = [...text.matchAll(/^(?:export )?let (\w+)/gm)].map(([, name = '']) => name)
  const weak = [...text.matchAll(/^(?:export )?const (\w+)(?:: .*)? = new Weak(?:Map|Set)\b/gm)].map(
    ([, name = '']) => name,
  )
  const written = constantsOf(text)
    .filter(({ name, isExported }) => [text, ...(isExported ? importers : [])].some((other) => writesTo(other, name)))
    .map(({ name }) => name)
  return [...new Set([...variables, ...weak, ...written])]
}

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '[': ']' }

/**
 * The index after the bracket that closes the one at `from`. Brackets in a string count too, so they must come in
 * pairs.
 */
function afterBracket(text: string, from: number): number {
  const opening = text[from] ?? ''
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === opening) depth++
    if (text[at] === CLOSING[opening] && --depth === 0) return at + 1
  }
  return text.length
}

/**
 * The lines that spread a literal, whose members could be written there themselves. A literal with a method call is
 * excluded, and so is a rest parameter.
 */
export function spreadLiteralsOf(text: string): string[] {
  return [...text.matchAll(/\.\.\.(\(*)(?=[{[])/g)].flatMap(({ index, 0: before, 1: parentheses = '' }) => {
    const end = afterBracket(text, index + before.length)
    const isWhole = new RegExp(`^(?: as [\\w ]+| satisfies [\\w ]+)?\\){${parentheses.length}}\\s*[,)\\]}]`)
    if (!isWhole.test(text.slice(end))) return []
    const from = text.lastIndexOf('\n', index) + 1
    return text
      .slice(from, end)
      .split('\n', 1)
      .map((line) => line.trim())
  })
}

/** The words of a name without their endings: their first four letters without the plural's `s`. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.replace(/s$/, '').slice(0, 4))
}

/** True when a file or its folder shares a word with a name. */
export function sharesWord(file: string, name: string): boolean {
  const own = new Set(
    file
      .replace(/\.tsx?$/, '')
      .split('/')
      .slice(-2)
      .flatMap(wordsOf),
  )
  return wordsOf(name).some((word) => own.has(word))
}

/** The names that a file exports at their declarations. */
export function exportedNames(text: string): string[] {
  const declared = text.matchAll(/^export (?:async )?(?:type|interface|class|const|function\*?) (\w+)/gm)
  return [...new Set([...declared].map(([, name = '']) => name))]
}
