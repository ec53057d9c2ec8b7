import { z } from 'zod'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { Buyer } from '#test/faults/harness/market.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/until.ts'

const FILM = 'film'
const SECONDS = 4
/** A cent a second, half of which the seller keeps. The sample provider makes a film that is a second shorter. */
const COST_MICRO = 15_000n
const PATH = '/v1/video/generations'
const SOON_MS = 20_000
/** Workers ask about a new job after some seconds, so this is long enough for several questions. */
const ENDED_MS = 60_000

const Job = z.object({ id: z.string(), status: z.string() })

/** Puts the film on sale at the first seller's provider, once a world. */
async function sell({ market, origin, buyers }: World): Promise<Buyer> {
  const [buyer] = buyers
  if (buyer === undefined) throw new Error('no buyer')
  const answer = await fetch(`${origin(0)}/v1/models/${FILM}`)
  if (answer.ok) return buyer
  await market.film(FILM)
  await market.offer({ model: FILM, providerModel: 'sandbox/job', seller: 'a', discount: 50 })
  for (const node of [0, 1]) {
    await until('the film is on sale', SOON_MS, async () => (await fetch(`${origin(node)}/v1/models/${FILM}`)).ok)
  }
  return buyer
}

function submit({ origin }: World, { key }: Buyer, node = 0): Promise<Response> {
  return fetch(origin(node) + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: FILM, prompt: 'A boat.', seconds: SECONDS }),
  })
}

async function ask({ origin }: World, { key }: Buyer, rid: string, node = 1): Promise<string> {
  const answer = await fetch(`${origin(node)}${PATH}/job_${rid}`, { headers: { authorization: `Bearer ${key}` } })
  return answer.ok ? Job.parse(await answer.json()).status : String(answer.status)
}

type Booked = { readonly rid: string; readonly outcome: string | null; readonly charge: string | null }

/** The jobs that are booked, with the ends of those that are over. */
async function booked({ sql }: World): Promise<readonly Booked[]> {
  const { rows } = await sql.query<Booked>(`select j.rid, s.outcome, s.charge::text as charge
    from job j left join settlement s on s.rid = j.rid order by j.rid`)
  return rows
}

/** Has the workers ask about every open job now, as often as it takes. */
async function endAll(world: World): Promise<void> {
  await until('every job is over', ENDED_MS, async () => {
    await world.sql.query('update job set poll_at = now() where ended_at is null and asker is null')
    return (await booked(world)).every(({ outcome }) => outcome !== null)
  })
}

/** The node dies at a place of a submit, and starts again. What its provider runs is paid and shown, or was never held. */
async function dieInSubmit(stage: Stage, points: readonly CrashPoint[]): Promise<void> {
  const { world } = stage
  const node = world.dataPlanes[0]
  const buyer = await sell(world)
  for (const point of points) {
    const before = (await booked(world)).length
    await node.kill()
    await node.start({ environment: { CRASH_AT: `${point}#1` }, mustEnd: true })
    await world.untilPaid()
    const answer = await submit(world, buyer).catch(() => undefined)
    stage.require(answer === undefined, `${point}: the submit was answered with ${answer?.status}`)
    stage.require(wasKilled(await node.ended()), `${point}: the node did not die`)
    await node.start()
    // Before the journal has it, nobody was told of the job: its hold runs out, and its buyer pays nothing.
    if (point !== 'job_settled') continue
    await until('the submit is booked', SOON_MS, async () => (await booked(world)).length === before + 1)
    const rid = (await booked(world)).at(-1)?.rid ?? ''
    await endAll(world)
    const end = (await booked(world)).at(-1)
    stage.require(end?.charge === String(COST_MICRO), `${point}: the end costs ${end?.charge}`)
    stage.require((await ask(world, buyer, rid)) === 'succeeded', `${point}: its buyer is shown something else`)
  }
  stage.figure('jobs', (await booked(world)).length)
}

export const JOB_ROWS: readonly Row[] = [
  {
    number: 'N05',
    title: 'a data plane dies while it submits a long job: at each place before the journal has it, and after',
    isQuick: true,
    run: (stage) => dieInSubmit(stage, stage.isQuick ? ['job_settled'] : ['job_taken', 'job_written', 'job_settled']),
  },
]
