import { basename, dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  circlesOf,
  countStatements,
  exportedNames,
  files,
  functionsOf,
  importGraph,
  importsOf,
  read,
  roomGraph,
  sharesWord,
  sources,
  spreadLiteralsOf,
  stateOf,
  subjectsSince,
  treePath,
  wholeContextsOf,
} from './support/run/source-tree.ts'

/** The largest number of statements in a source file and in a function. A larger one is split by noun. */
const MAX_STATEMENTS = { file: 310, function: 62 }

/** Characters of the subject of a commit. */
const MAX_SUBJECT_CHARS = 72
/** Commits after this one have subjects of the form `area: what changes`. */
const FIRST_NAMED_COMMIT = 'aaefe918'

/** The only state of modules, each with its reason. */
const MODULE_STATE: Readonly<Record<string, string>> = {
  'shared/crash-point.ts: armed': 'Every part of the process shares the place of the crash.',
  'data-plane/rails/request-digest.ts: digests': 'A hash of a request, which ends with the request.',
}

type Rule = { readonly from: RegExp; readonly allows: readonly RegExp[] }

/** A folder for each protocol that providers speak. */
const protocolFolders = [
  ...new Set(sources.map((path) => /^shared\/protocols\/[\w-]+\//.exec(path)?.[0] ?? '')),
].filter((folder) => folder !== '' && !/\/(answers|middle-form)\/$/.test(folder))

/** All of `shared/` but the folders of single protocols. Only the table of protocols names those. */
const shared = /^shared\/(?!protocols\/(?!answers\/|middle-form\/)[\w-]+\/)/
/** The import table: the first row whose `from` fits a file decides what that file may import from this tree. */
const RULES: readonly Rule[] = [
  { from: /^shared\/protocols\/index\.ts$/, allows: [/^shared\//] },
  // A protocol knows no other.
  ...protocolFolders.map((folder) => ({
    from: new RegExp(`^${folder}`),
    allows: [shared, new RegExp(`^${folder}`)],
  })),
  { from: /^shared\//, allows: [shared] },
  {
    from: /^data-plane\/wires\//,
    allows: [shared, /^data-plane\/(call\.ts|wires\/)/],
  },
  { from: /^data-plane\/rails\//, allows: [shared, /^data-plane\/(call\.ts|payment\.ts|rails\/)/] },
  {
    from: /^data-plane\/pipeline\//,
    allows: [
      shared,
      /^data-plane\/(call\.ts|payment\.ts|store\/|upstream\/|journal\/|pipeline\/)/,
      /^data-plane\/(wires\/wire|rails\/rail)\.ts$/,
    ],
  },
  {
    from: /^data-plane\/(store|upstream|journal)\//,
    allows: [shared, /^data-plane\/(call\.ts|payment\.ts|store\/|upstream\/|journal\/)/],
  },
  {
    from: /^data-plane\/reads\//,
    allows: [shared, /^data-plane\/(call\.ts|payment\.ts|store\/|reads\/|wires\/envelopes\/)/],
  },
  {
    from: /^data-plane\/http\//,
    allows: [
      shared,
      /^data-plane\/(call\.ts$|http\/|pipeline\/|reads\/|wires\/(envelopes\/|wire\.ts$|json-body\.ts$))/,
    ],
  },
  {
    from: /^data-plane\/local\//,
    allows: [shared, /^data-plane\/(call\.ts$|local\/|http\/(row-index|path-floor)\.ts$|pipeline\/|wires\/)/],
  },
  {
    from: /^data-plane\/observe\//,
    allows: [
      shared,
      /^data-plane\/((call|payment)\.ts$|observe\/|http\/admission\.ts$|pipeline\/call-plane\.ts$|store\/|journal\/)/,
    ],
  },
  { from: /^data-plane\//, allows: [shared, /^data-plane\//] },
  {
    from: /^control-plane\/services\//,
    allows: [shared, /^control-plane\/(services|operation|db|ports)\//],
  },
  // The ledger's port uses the tables' row types. Operators' switches are read from them as well.
  { from: /^control-plane\/ports\/(ledger|limits)\//, allows: [shared, /^control-plane\/(ports|db)\//] },
  { from: /^control-plane\/ports\//, allows: [shared, /^control-plane\/ports\//] },
  { from: /^control-plane\/observe\//, allows: [shared, /^control-plane\/(observe|ports|db)\//] },
  { from: /^control-plane\/db\//, allows: [shared, /^control-plane\/db\//] },
  // The HTML document has the texts that the screen's script draws first.
  {
    from: /^control-plane\/api\/page\//,
    allows: [
      shared,
      /^control-plane\/(services|operation|api)\//,
      /^control-plane\/dashboard\/(market\/(home\/head|public-heads|model\/model-figures)|ui\/brand-mark)\.ts$/,
    ],
  },
  {
    from: /^control-plane\/(api|workers)\//,
    allows: [shared, /^control-plane\/(services|operation|api|workers|ports)\//],
  },
  { from: /^control-plane\/operation\//, allows: [shared, /^control-plane\/(operation|db|ports)\//] },
  { from: /^control-plane\/check-ledger\//, allows: [/^control-plane\/check-ledger\//] },
  // Parts of the page that draw know nothing of the market. Screens do, and no screen knows another side's.
  {
    from: /^control-plane\/dashboard\/charts\//,
    allows: [/^control-plane\/dashboard\/(charts\/|data\/format\.ts$)/],
  },
  {
    from: /^control-plane\/dashboard\/ui\//,
    allows: [/^control-plane\/dashboard\/(ui\/|data\/(format|settings|session|client)\.tsx?$)/],
  },
  { from: /^control-plane\/dashboard\/data\//, allows: [/^control-plane\/dashboard\/data\//] },
  ...['market', 'buyer', 'seller', 'operator'].map((side) => ({
    from: new RegExp(`^control-plane/dashboard/${side}/`),
    // The page and the command line split an import in the same way.
    allows: [
      new RegExp(`^control-plane/dashboard/(ui|charts|data|market|${side})/`),
      /^shared\/catalog\/import-parts\.ts$/,
    ],
  })),
  { from: /^control-plane\/dashboard\//, allows: [/^control-plane\/dashboard\//] },
  // The command line is a client. Of the planes it knows the router's type alone.
  { from: /^control-plane\/cli\//, allows: [shared, /^control-plane\/(cli\/|api\/trpc\/router\.ts$)/] },
  { from: /^control-plane\//, allows: [shared, /^control-plane\//] },
  { from: /^bundle\//, allows: [shared, /^bundle\//, /^control-plane\/dashboard\/market\/docs\/doc-page\.ts$/] },
  { from: /^dev\//, allows: [shared, /^(data-plane|control-plane|dev|bundle)\//] },
  // Examples run on a reader's machine, which has none of our modules.
  { from: /^docs\/examples\//, allows: [] },
  { from: /^test\//, allows: [/./] },
  { from: /^vitest\.config\.ts$/, allows: [/^test\//] },
]

/** Packages that only some places may use: SQL in db/, Redis and the network never in pure code. */
const PACKAGES: readonly { readonly name: RegExp; readonly only: RegExp }[] = [
  {
    name: /^(kysely|pg)$/,
    only: /^(control-plane\/(db\/|check-ledger\/|plane\.ts|services\/|migrate\.ts)|dev\/|test\/)/,
  },
  {
    name: /^ioredis$/,
    only: /^(control-plane\/(ports|check-ledger|workers)\/|control-plane\/plane\.ts|data-plane\/(store\/|open-stores\.ts)|dev\/|test\/)/,
  },
  {
    name: /^bullmq$/,
    only: /^(control-plane\/(ports|workers)\/|control-plane\/plane\.ts|data-plane\/(store\/|plane\.ts)|dev\/|test\/)/,
  },
  { name: /^undici$/, only: /^(data-plane\/upstream\/|control-plane\/ports\/|dev\/|test\/)/ },
  {
    name: /^fastify$/,
    only: /^(data-plane\/(http\/|plane\.ts)|control-plane\/((health-)?server\.ts|observe\/|api\/)|dev\/|test\/)/,
  },
  { name: /^@aws-sdk\//, only: /^(data-plane\/store\/s3-bucket\.ts|test\/)/ },
  { name: /^@opentelemetry\//, only: /^(shared\/telemetry\/open-tracer\.ts|test\/)/ },
  { name: /^(graphql|graphql-yoga|@pothos\/.*)$/, only: /^(control-plane\/(server\.ts|api\/)|test\/)/ },
  { name: /^@trpc\//, only: /^(control-plane\/(server\.ts|api\/|cli\/)|dev\/|test\/)/ },
  { name: /^commander$/, only: /^control-plane\/cli\// },
  { name: /^(react|react-dom|@tanstack\/.*)(\/|$)/, only: /^control-plane\/dashboard\// },
  { name: /^playwright-core$/, only: /^test\// },
]

/** The folders above a file. */
function ancestorsOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

describe('the source tree', () => {
  it('obeys the import table', () => {
    const broken: string[] = []
    for (const file of sources) {
      const rule = RULES.find((row) => row.from.test(file))
      if (!rule) broken.push(`${file}: no row of the import table`)
      for (const { specifier } of importsOf(read(file))) {
        const target = treePath(file, specifier)
        if (target !== undefined && !rule?.allows.some((pattern) => pattern.test(target))) {
          broken.push(`${file} imports ${specifier}`)
        }
        if (specifier.startsWith('../')) broken.push(`${file} climbs with ${specifier}`)
      }
    }
    expect(broken).toEqual([])
  })

  it('uses each guarded package only where it belongs', () => {
    const broken = sources.flatMap((file) =>
      importsOf(read(file))
        .filter(({ specifier }) => PACKAGES.some((row) => row.name.test(specifier) && !row.only.test(file)))
        .map(({ specifier }) => `${file} imports ${specifier}`),
    )
    expect(broken).toEqual([])
  })

  it('has no circle, neither of values nor of types, between files or rooms', () => {
    const all = importGraph('values and types')
    expect(circlesOf(all)).toEqual([])
    expect(circlesOf(roomGraph(all))).toEqual([])
  })

  it(`has no file over ${MAX_STATEMENTS.file} statements, and no function over ${MAX_STATEMENTS.function}`, () => {
    expect(sources.filter((file) => countStatements(read(file)) > MAX_STATEMENTS.file)).toEqual([])
    const long = sources
      .filter((file) => !file.startsWith('test/'))
      .flatMap((file) => functionsOf(read(file)).map(({ head, statements }) => ({ file, head, statements })))
      .filter(({ statements }) => statements > MAX_STATEMENTS.function)
    expect(long).toEqual([])
  })

  it('spreads no literal whose members could be written in its place', () => {
    // An ellipsis replaces the dots, or this file would break the rule itself.
    const planted = [
      'const row = { id, …{ a, b } }',
      '[\n  …[1, 2],\n]',
      "f(…(['a'] as const))",
      '<Page {…{ data }} />',
    ]
    const linesOf = (text: string) => spreadLiteralsOf(text.replaceAll('…', '...'))
    expect(planted.map((text) => linesOf(text).length)).toEqual([1, 1, 1, 1])
    expect(linesOf("f(…['a'].map(g), …(['b'] as const).map(h), …(isOn ? { a } : {}))")).toEqual([])
    expect(linesOf('function f(…[a = 1, b]: [a?: number, b?: number]) {}')).toEqual([])
    expect(sources.flatMap((file) => spreadLiteralsOf(read(file)).map((line) => `${file}: ${line}`))).toEqual([])
  })

  it('exports no type under a name that another file exports', () => {
    const files = new Map<string, string[]>()
    for (const file of sources.filter((path) => !path.startsWith('test/'))) {
      for (const [, name = ''] of read(file).matchAll(/^export (?:type|interface|class) (\w+)/gm)) {
        files.set(name, [...(files.get(name) ?? []), file])
      }
    }
    expect([...files].filter(([, places]) => places.length > 1)).toEqual([])
  })

  it('names a file after what it exports, where that is one thing or two', () => {
    expect(sharesWord('shared/money-texts.ts', 'moneyText')).toBe(true)
    expect(sharesWord('shared/money/index.ts', 'MONEY')).toBe(true)
    expect(sharesWord('shared/money/amount.ts', 'readNames')).toBe(false)
    const named = sources.filter((path) => !path.startsWith('test/'))
    const strange = named.flatMap((file) => {
      const text = read(file)
      const names = exportedNames(text)
      // A file that adds fields to GraphQL's schema is named after their subject.
      const isSubject = names.length === 0 || names.length > 2 || /^builder\./m.test(text)
      return isSubject || names.some((name) => sharesWord(file, name)) ? [] : [`${file}: ${names.join(', ')}`]
    })
    expect(strange).toEqual([])
  })

  it('hands a plain function of services the parts that it names, never the whole context', () => {
    const planted =
      'async function f(ctx: Ctx, id: string) {}\nfunction g({ db }: RunCtx) {}\ntype All = Ctx & { a: 1 }'
    expect(wholeContextsOf(planted)).toHaveLength(3)
    expect(wholeContextsOf("function f(ctx: Pick<Ctx, 'db'>, log: Ctx['log'], own: RowCtx) {}")).toEqual([])
    const broken = sources
      .filter((path) => path.startsWith('control-plane/services/'))
      .flatMap((file) => wholeContextsOf(read(file)).map((line) => `${file}: ${line}`))
    expect(broken).toEqual([])
  })

  it('keeps no state in a module: state belongs to an object that the composition root makes', () => {
    expect(stateOf('let made: Promise<void> | undefined')).toEqual(['made'])
    expect(stateOf('const known = new WeakMap<object, string>()')).toEqual(['known'])
    expect(stateOf('const known: Map<string, number> = new Map()\nfunction f() {\n  known.set("a", 1)\n}')).toEqual([
      'known',
    ])
    expect(stateOf('const last = { at: 0 }\nfunction f() {\n  last.at = 1\n}')).toEqual(['last'])
    expect(stateOf('const list: number[] = []\nfunction f() {\n  list[0] = 1\n}')).toEqual(['list'])
    expect(stateOf('export const list: number[] = []', ['list.push(1)'])).toEqual(['list'])
    expect(stateOf("const NAMES = new Set(['a'])\nconst has = NAMES.has('a')")).toEqual([])
    const production = sources.filter((file) => !file.startsWith('test/'))
    const importersOf = new Map<string, string[]>()
    for (const file of production) {
      const text = read(file)
      for (const { specifier } of importsOf(text)) {
        const target = treePath(file, specifier)
        if (target !== undefined) importersOf.set(target, [...(importersOf.get(target) ?? []), text])
      }
    }
    const found = production.flatMap((file) =>
      stateOf(read(file), importersOf.get(file)).map((name) => `${file}: ${name}`),
    )
    expect(new Set(found)).toEqual(new Set(Object.keys(MODULE_STATE)))
  })

  it('has no vague names', () => {
    const vague = sources.filter((file) => /^(types|utils?|helpers?|constants|common|misc)\.ts$/.test(basename(file)))
    expect(vague).toEqual([])
    const named = sources
      .filter((file) => !file.startsWith('test/'))
      .flatMap((file) =>
        [
          ...read(file).matchAll(
            /export (?:type|interface|class|const|function) (\w*(?:Manager|Helper|Utils?|Impl))\b/g,
          ),
        ].map((match) => `${file}: ${match[1]}`),
      )
    expect(named).toEqual([])
  })

  it('has no line of a comment over 120 characters', () => {
    const wide = sources.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, at) => (/^\s*(?:\/\/|\/?\*)/.test(line) && line.length > 120 ? [`${file}:${at + 1}`] : [])),
    )
    expect(wide).toEqual([])
  })

  it('has no comment that opens without a noun', () => {
    const opening =
      /^\s*(?:\/\/|\/\*\*|\*) (?:(?:What|One|How|Who|Which|Those|Its|Their|It|They|Another|Whoever)\b|(?:This|These) (?:is|are|was|were|may|copies|covers)\b)/
    const vague = sources.flatMap((file) => {
      const lines = read(file).split('\n')
      // A line that follows an unfinished sentence of a comment goes on with it.
      const goesOn = (at: number) => /^\s*(?:\/\/|\/\*\*|\*(?!\/)).*[^.:*\s]$/.test(lines[at - 1] ?? '')
      return lines.flatMap((line, at) =>
        opening.test(line) && !goesOn(at) ? [`${file}:${at + 1} ${line.trim()}`] : [],
      )
    })
    expect(vague).toEqual([])
  })

  it('has no escape hatches in production code', () => {
    const broken: string[] = []
    for (const file of sources.filter((path) => /^(data-plane|control-plane|dev)\//.test(path))) {
      for (const [index, line] of read(file).split('\n').entries()) {
        const code = line.replace(/\/\/.*$|\/\*.*\*\//, '')
        if (/@ts-(ignore|expect-error|nocheck)/.test(line)) broken.push(`${file}:${index + 1} silences the compiler`)
        if (/\b(FIXME|XXX|HACK)\b/.test(line)) broken.push(`${file}:${index + 1} has a mark other than @NOTE, @TODO`)
        if (/[\w)\]>] as (?!const\b)[A-Z{]/.test(code) && !/^\s*(\*|import|export \{)/.test(code)) {
          broken.push(`${file}:${index + 1} casts: ${line.trim()}`)
        }
      }
    }
    expect(broken).toEqual([])
  })

  it('has commits whose subjects name an area and fit a line', () => {
    const form = /^[a-z][a-z -]*: \S.*$/
    const isGood = (subject: string) => form.test(subject) && subject.length <= MAX_SUBJECT_CHARS
    expect(['Fixes things', `house: ${'x'.repeat(MAX_SUBJECT_CHARS)}`].filter(isGood)).toEqual([])
    expect(subjectsSince(FIRST_NAMED_COMMIT).filter((subject) => !isGood(subject))).toEqual([])
  })

  it('has no test with a time limit of its own, which a busy machine would pass', () => {
    const own = /^ *\}, [\dA-Z_]+\)$|(?:describe|it)(?:\.each\(.*\))?\(.*\{ timeout:/m
    expect(['  }, 60_000)', "it('waits', { timeout: 9 }, () => {"].every((line) => own.test(line))).toBe(true)
    expect(sources.filter((file) => /^test\/.*\.test\.ts$/.test(file) && own.test(read(file)))).toEqual([
      'test/tidy.test.ts',
    ])
  })

  it('reads the environment only in config files', () => {
    const readers = sources.filter(
      (file) => /^(shared|data-plane|control-plane)\//.test(file) && /process\.env\b/.test(read(file)),
    )
    expect(
      readers.filter(
        (file) =>
          !/^(data-plane|control-plane|control-plane\/cli)\/config\.ts$/.test(file) &&
          file !== 'control-plane/check-ledger/config.ts',
      ),
    ).toEqual([])
  })

  it('has no text that links to a missing file, or names one', () => {
    const known = new Set(files)
    const folders = new Set(files.flatMap((file) => ancestorsOf(file)))
    const exists = (path: string) => known.has(path) || folders.has(path.replace(/\/$/, ''))
    const broken: string[] = []
    for (const text of files.filter((path) => path.endsWith('.md'))) {
      const body = read(text).replace(/^(`{3,})[\s\S]*?^\1/gm, '')
      for (const [, target = ''] of body.matchAll(/\]\(([^)#\s]+)[^)\s]*\)/g)) {
        if (!/^(?:[a-z]+:|\/)/.test(target) && !exists(normalize(join(dirname(text), target))))
          broken.push(`${text} links to ${target}`)
      }
      for (const [, path = ''] of body.matchAll(
        /`((?:shared|data-plane|control-plane|dev|test|bundle)\/[\w./-]+\.\w+)`/g,
      ))
        if (!exists(path)) broken.push(`${text} names ${path}`)
    }
    expect(broken).toEqual([])
  })

  it('names no fault row and no invariant that is not there', () => {
    const rows = files.filter((path) => path.startsWith('test/faults/rows/')).map(read)
    const numbers = rows.flatMap((text) => [...text.matchAll(/number: '([A-Z]\d{2})/g)].map(([, number]) => number))
    const invariants = [...read('docs/architecture.md').matchAll(/^\| (I\d+) /gm)].map(([, number]) => number)
    const known = new Set([...numbers, ...invariants])
    const texts = files.filter((path) => /^(?:test|docs)\/.*\.(?:ts|md)$/.test(path))
    const broken = texts.flatMap((file) =>
      [...read(file).matchAll(/\b(?:[CFN]\d{2,3}|I\d{1,2})\b/g)]
        .filter(([code]) => !known.has(code))
        .map(([code]) => `${file} names ${code}`),
    )
    expect(broken).toEqual([])
  })

  it('names no machine, registry or outside reference', () => {
    const banned = [
      /\/(?:home|root|work|Users)\/[\w.-]+\//,
      new RegExp(['registry', 'npmjs'].join('\\.')),
      new RegExp(['\\.\\.', 'shared/'].join('/')),
    ]
    const texts = files.filter(
      (path) =>
        /\.(ts|md|json|yml|sql|mjs)$|Dockerfile|\.env\.example|\.ci\//.test(path) && path !== 'test/tidy.test.ts',
    )
    const broken = texts.flatMap((file) =>
      banned.filter((pattern) => pattern.test(read(file))).map((pattern) => `${file}: ${pattern}`),
    )
    expect(broken).toEqual([])
  })
})
