import { z } from 'zod'
import { MINUTE } from '#shared/clock.ts'
import { until } from '#test/support/run/until.ts'

/** A change of the market while a call runs. */
export type Meanwhile = 'the price doubles' | 'a peak begins'

/** The parts of a market that a change needs. */
export type ChangePorts = {
  /** The plane that receives the calls. */
  readonly url: string
  operator(name: string, input: object): Promise<unknown>
  /** Sets the clock of that plane ahead by this many milliseconds in total. */
  shiftClock(ms: number): void
}

/** The steps of a change: before the call, after its first token, and after its end. */
export type Change = {
  before(model: string): Promise<void>
  during(model: string): Promise<void>
  after(): void
}

const DOUBLE = { prompt: '0.000002', completion: '0.00002' }
const Shown = z.object({ pricing: z.object({ prompt: z.string(), overrides: z.array(z.unknown()).optional() }) })
/** A peak begins this long after its call, and the clock is moved a little further. */
const BEGINS_IN_MS = 2 * MINUTE
const MOVED_MS = 3 * MINUTE

export function changeOf(kind: Meanwhile, { url, operator, shiftClock }: ChangePorts): Change {
  const put = async (
    model: string,
    pricing: object,
    isShown: (pricing: z.output<typeof Shown>['pricing']) => boolean,
  ) => {
    await operator('price.put', { model, pricing, source: 'test' })
    await until('the plane has the new prices', 20_000, async () =>
      isShown(Shown.parse(await (await fetch(`${url}/v1/models/${model}`)).json()).pricing),
    )
  }
  if (kind === 'the price doubles') {
    return {
      before: async () => undefined,
      during: (model) => put(model, DOUBLE, ({ prompt }) => prompt === DOUBLE.prompt),
      after: () => undefined,
    }
  }
  return {
    async before(model) {
      const start = Date.now() + BEGINS_IN_MS
      const peak = { ...DOUBLE, utc_start: clockNumber(start), utc_end: clockNumber(start + 60 * MINUTE) }
      const pricing = { prompt: '0.000001', completion: '0.00001', overrides: [peak] }
      await put(model, pricing, ({ overrides = [] }) => overrides.length > 0)
    },
    during: async () => shiftClock(MOVED_MS),
    after: () => shiftClock(0),
  }
}

/** The time of the UTC day as a number of its four digits. */
function clockNumber(at: number): number {
  const time = new Date(at)
  return time.getUTCHours() * 100 + time.getUTCMinutes()
}
