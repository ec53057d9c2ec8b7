import type { Browser } from 'playwright-core'
import { SECOND } from '#shared/clock.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { SCREENS } from '#test/support/page/page-routes.ts'
import type { Figure } from './filled-plane.ts'
import { middle } from './middle.ts'
import type { Pace, Seen, Session } from './page-visit.ts'
import { LEAST_PRESS_MS, signIn, visit } from './page-visit.ts'
import { onShownMarket } from './shown-market.ts'

const ROUNDS = 5
/** The start of the last visit, after the market is filled. */
const VISITS_MS = 400 * SECOND
const ASSET_MS = 10 * SECOND
const MODEL = 'model-1'

type Side = 'nobody' | 'buyer' | 'seller' | 'operator'
type Screen = { readonly name: string; readonly side: Side; readonly path: string; readonly shows: string }

const card = (title: string, part: string) => `main section[aria-label="${title}"] ${part}`
const HOME = { name: 'public home', side: 'nobody', path: '/', shows: card('Top models by spend', 'tbody tr') } as const
const MODELS = { name: 'models', side: 'nobody', path: '/models', shows: card('Catalogue', 'tbody tr') } as const
const PAGE_OF_MODEL = {
  name: 'model page',
  side: 'nobody',
  path: `/model/${MODEL}`,
  shows: card('Order book', 'tbody tr'),
} as const
const OVERVIEW = {
  name: 'buyer overview',
  side: 'buyer',
  path: '/buyer',
  shows: card('Spending', 'svg.chart'),
} as const
const ACTIVITY = {
  name: 'activity',
  side: 'buyer',
  path: '/buyer/activity',
  shows: card('Totals of the period', 'tbody tr'),
} as const
const LOGS = { name: 'logs', side: 'buyer', path: '/buyer/logs', shows: card('Calls', 'tbody tr') } as const
const OFFERS = {
  name: 'seller offers',
  side: 'seller',
  path: '/seller/offers',
  shows: card('Your offers', 'tbody tr'),
} as const
const COCKPIT = {
  name: 'operator cockpit',
  side: 'operator',
  path: '/operator',
  shows: card('Calls by hour', 'svg.chart'),
} as const
const HEAT_MAP = {
  name: 'activity with the heat map',
  side: 'buyer',
  path: '/buyer/activity?hours=yes',
  shows: 'main svg.chart path.heat',
} as const

const MAIN_SCREENS: readonly Screen[] = [
  HOME,
  MODELS,
  PAGE_OF_MODEL,
  OVERVIEW,
  ACTIVITY,
  LOGS,
  OFFERS,
  COCKPIT,
  HEAT_MAP,
]
/** The screens that users open first, by a link or a bookmark. */
const FIRST_SCREENS: readonly Screen[] = [HOME, MODELS, PAGE_OF_MODEL, OVERVIEW]

/** The clicks on a screen, in this order. The last one may open a dialog or leave the screen. */
const CLICKS: readonly (readonly [screen: Screen, clicks: Readonly<Record<string, string>>])[] = [
  [
    MODELS,
    {
      'compare one model': 'main tbody input[type="checkbox"]',
      'compare another': 'main tbody tr:nth-child(2) input[type="checkbox"]',
      'next page': 'main button[aria-label="Next page"]',
      'another screen': 'nav a:text-is("Feed and rankings")',
    },
  ],
  [
    PAGE_OF_MODEL,
    {
      'other figure of speed': 'main fieldset[aria-label="Figure of speed"] button[aria-pressed="false"]',
      search: 'nav button:has-text("Search")',
    },
  ],
  [ACTIVITY, { cumulative: 'main label:has-text("Cumulative")', '7 days': 'main button:text-is("7 days")' }],
  [HEAT_MAP, { 'heat map off': 'main label:has-text("By hour of day")' }],
  [LOGS, { 'open a call': 'main tbody button' }],
  [
    OFFERS,
    { 'choose an offer': 'main tbody input[type="checkbox"]', 'edit an offer': 'main tbody button:text-is("Edit")' },
  ],
  [COCKPIT, { curl: 'main button:text-is("curl")' }],
]

/** States of a screen that have a row of their own. */
const STATE_OF_SCREEN = /text|missing|empty|gate|not-found|of-others|compared|summed|tried/

type Bench = {
  readonly browser: Browser
  readonly url: string
  readonly sessions: Readonly<Record<Side, Session | undefined>>
  hasTime(): boolean
}

/**
 * Measures the page in a real browser on a market of 100,000 offers and a million calls: its bytes, its paints, its
 * clicks, and the time until each main screen is useful. Each visit has an empty cache. Figures are medians of five,
 * with the goal beside them.
 */
export async function measureDashboard(say: (figure: Figure) => void): Promise<void> {
  const beganAt = performance.now()
  await onShownMarket(async ({ url, keys }) => {
    const filledAt = performance.now()
    say({ what: 'page: market filled', figure: seconds(filledAt - beganAt), beside: 'with its roll-ups' })
    const browser = await startBrowser()
    try {
      const sessions = {
        nobody: undefined,
        buyer: await signIn(browser, url, keys.buyer),
        seller: await signIn(browser, url, keys.seller),
        operator: await signIn(browser, url, keys.operator),
      }
      const bench = { browser, url, sessions, hasTime: () => performance.now() - filledAt < VISITS_MS }
      for (const measure of [measureWeight, measureScreens, measureSlowLine, measureClicks]) {
        for (const figure of await measure(bench)) say(figure)
      }
    } finally {
      await browser.close()
    }
  })
}

function look({ browser, url, sessions }: Bench, { side, path, shows }: Screen, pace: Pace): Promise<Seen> {
  return visit(browser, { url: url + path, shows, session: sessions[side], pace }, async ({ seen }) => seen)
}

/** Measures the bytes of every screen over the wire, and the number of its requests for data. */
async function measureWeight(bench: Bench): Promise<Figure[]> {
  const screens = SCREENS.flatMap(({ name, side, path }) =>
    side === 'member' || STATE_OF_SCREEN.test(name)
      ? []
      : [
          {
            name,
            side,
            shows: 'main h1',
            path: path.replace(/claude-3\.5-haiku|gpt-5-mini/, MODEL).replace('{offer}', 'ofr_0'),
          },
        ],
  )
  const [bytesOf, gzipBytesOf] = [createScale('br'), createScale('gzip')]
  const home = await look(bench, HOME, 'plain')
  const known = new Set(home.assets)
  const wholes: Measured[] = []
  const further: Measured[] = []
  const questions: Measured[] = []
  const missing: string[] = []
  for (const screen of screens) {
    const seen = bench.hasTime() ? await look(bench, screen, 'plain').catch(() => undefined) : undefined
    if (seen === undefined) {
      missing.push(screen.path)
      continue
    }
    const of = `${screen.path} of ${screen.side}`
    wholes.push({ value: await bytesOf(seen.assets, '.js'), of })
    further.push({
      value: await bytesOf(
        seen.assets.filter((asset) => !known.has(asset)),
        '.js',
      ),
      of,
    })
    questions.push({ value: seen.asked.length, of: `${screen.path} asks ${seen.asked.join(', ')}` })
  }
  const [whole, other, asked] = [mostOf(wholes), mostOf(further), mostOf(questions)]
  const fonts = home.assets.filter((asset) => /\.(woff2?|ttf|otf)$/.test(asset)).length
  const of = `of ${further.length} screens${missing.length === 0 ? '' : `, not measured: ${missing.join(' ')}`}`
  return [
    {
      what: 'page: scripts of the first view',
      figure: kilobytes(await bytesOf(home.assets, '.js')),
      beside: `goal 130 kB; by gzip ${kilobytes(await gzipBytesOf(home.assets, '.js'))}; at most ${kilobytes(whole.value)}, ${whole.of}`,
    },
    {
      what: 'page: further scripts of a screen, at most',
      figure: kilobytes(other.value),
      beside: `goal 40 kB; ${other.of}, ${of}`,
    },
    {
      what: 'page: styles',
      figure: kilobytes(await bytesOf(home.assets, '.css')),
      beside: `goal 15 kB; ${fonts} fonts (goal 0)`,
    },
    {
      what: 'page: queries for the data of a view, at most',
      figure: String(asked.value),
      beside: `goal 1; ${
        questions
          .filter(({ value }) => value > 1)
          .map((one) => one.of)
          .join('; ') || 'everywhere'
      }`,
    },
  ]
}

/** The bytes of files over the wire, compressed as browsers request it or by gzip. Each file is requested once. */
function createScale(encoding: 'br' | 'gzip') {
  const known = new Map<string, number>()
  return async (assets: readonly string[], ending: string): Promise<number> => {
    let sum = 0
    for (const asset of assets.filter((name) => name.endsWith(ending))) {
      const bytes = known.get(asset) ?? (await bytesOnWire(asset, encoding))
      known.set(asset, bytes)
      sum += bytes
    }
    return sum
  }
}

async function bytesOnWire(asset: string, encoding: string): Promise<number> {
  const signal = AbortSignal.timeout(ASSET_MS)
  const answer = await fetch(asset, { headers: { 'accept-encoding': encoding }, signal })
  await answer.arrayBuffer()
  if (answer.headers.get('content-encoding') !== encoding) throw new Error(`${asset} came without ${encoding}`)
  return Number(answer.headers.get('content-length'))
}

/**
 * Measures the time until each main screen is useful on loopback, with its paints and shifts. The first round does not
 * count.
 */
async function measureScreens(bench: Bench): Promise<Figure[]> {
  const visits = await visitInTurn(bench, MAIN_SCREENS, { pace: 'plain', rounds: ROUNDS + 1 })
  const paints: Measured[] = []
  const shifts: Measured[] = []
  const figures = visits.map(({ screen: { name: of }, seen: [first, ...rest], faults }) => {
    const figure = { what: `page: ${of} useful`, beside: 'goal 1 s' }
    if (rest.length === 0) return { ...figure, figure: faults[0] ?? 'no time was left' }
    const useful = rest.map(({ usefulMs }) => usefulMs)
    paints.push({ value: middle(rest.map(({ lcpMs }) => lcpMs)), of })
    shifts.push({ value: middle(rest.map(({ shift }) => shift)), of })
    const data = ms(middle(rest.map(({ dataMs }) => dataMs)))
    const others = `slowest of ${rest.length} ${ms(Math.max(...useful))}, the very first ${ms(first?.usefulMs ?? 0)}`
    const beside = `goal 1 s; ${others}; its data ${data}${faults.length === 0 ? '' : `; ${faults.join('; ')}`}`
    return { ...figure, figure: ms(middle(useful)), beside }
  })
  const [paint, shift] = [mostOf(paints), mostOf(shifts)]
  const each = paints.map(({ value, of }) => `${of} ${ms(value)}`).join(', ')
  return [
    ...figures,
    { what: 'page: largest paint on loopback, at most', figure: ms(paint.value), beside: `goal 600 ms; ${each}` },
    {
      what: 'page: layout shift of a screen, at most',
      figure: shift.value.toFixed(3),
      beside: `goal 0.02; ${shifts.map(({ value, of }) => `${of} ${value.toFixed(3)}`).join(', ')}`,
    },
  ]
}

async function measureSlowLine(bench: Bench): Promise<Figure[]> {
  const visits = await visitInTurn(bench, FIRST_SCREENS, { pace: 'slow phone', rounds: ROUNDS })
  return visits.map(({ screen, seen, faults: [fault] }) => {
    const what = `page: largest paint, slow 4G, 4x CPU, ${screen.name}`
    if (seen.length === 0) return { what, figure: fault ?? 'no time was left', beside: 'goal 1.8 s' }
    const paints = seen.map(({ lcpMs }) => lcpMs)
    const useful = seconds(middle(seen.map(({ usefulMs }) => usefulMs)))
    const beside = `goal 1.8 s; slowest of ${seen.length} ${seconds(Math.max(...paints))}; useful after ${useful}`
    return { what, figure: seconds(middle(paints)), beside }
  })
}

type Visits = { readonly screen: Screen; readonly seen: Seen[]; readonly faults: string[] }

/** Visits screens in turns, so that the market has forgotten the answers of the last round. */
async function visitInTurn(
  bench: Bench,
  screens: readonly Screen[],
  { pace, rounds }: { readonly pace: Pace; readonly rounds: number },
): Promise<Visits[]> {
  const visits = screens.map((screen): Visits => ({ screen, seen: [], faults: [] }))
  for (let round = 0; round < rounds; round++) {
    for (const { screen, seen, faults } of visits) {
      if (!bench.hasTime()) return visits
      await look(bench, screen, pace).then(
        (one) => seen.push(one),
        (error: Error) => faults.push(error.message.split('\n', 1)[0] ?? ''),
      )
    }
  }
  return visits
}

async function measureClicks(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [pace, what, goal] of [
    ['plain', 'slowest click', '50 ms'],
    ['slow clicks', 'slowest click at 4x CPU', '120 ms'],
  ] as const) {
    const { clicks, faults } = await clickInTurn(bench, pace)
    const medians = [...clicks].map(([of, times]) => ({ value: middle(times), of }))
    const slowest = mostOf(medians)
    const each = medians.sort((left, right) => right.value - left.value).map(({ value, of }) => `${of} ${press(value)}`)
    figures.push({
      what: `page: ${what}`,
      figure: press(slowest.value),
      beside: `goal ${goal}; ${each.join(', ')}${faults.size === 0 ? '' : `; ${[...faults].join('; ')}`}`,
    })
  }
  return figures
}

async function clickInTurn({ browser, url, sessions, hasTime }: Bench, pace: Pace) {
  const clicks = new Map<string, number[]>()
  const faults = new Set<string>()
  for (let round = 0; round < ROUNDS; round++) {
    for (const [{ side, path, shows }, selectors] of CLICKS) {
      if (!hasTime()) return { clicks, faults }
      const clickAll = visit(browser, { url: url + path, shows, session: sessions[side], pace }, async ({ click }) => {
        for (const [name, selector] of Object.entries(selectors)) {
          clicks.set(name, [...(clicks.get(name) ?? []), await click(selector)])
        }
      })
      await clickAll.catch((error: Error) => faults.add(error.message.split('\n', 1)[0] ?? ''))
    }
  }
  return { clicks, faults }
}

type Measured = { readonly value: number; readonly of: string }

function mostOf(values: readonly Measured[]): Measured {
  return values.reduce((most, one) => (one.value > most.value ? one : most), { value: 0, of: 'none' })
}

const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`
const ms = (time: number) => `${time.toFixed(0)} ms`
const seconds = (time: number) => `${(time / SECOND).toFixed(2)} s`
const press = (time: number) => (time === 0 ? `under ${LEAST_PRESS_MS} ms` : ms(time))
