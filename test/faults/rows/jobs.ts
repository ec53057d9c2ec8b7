import { z } from 'zod'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { Buyer } from '#test/faults/harness/market.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'

const FILM = 'film'
const SECONDS = 4
/** A cent per second, half of which the seller keeps. The sample provider makes a video that is a second shorter. */
const COST_MICRO = 15_000n
const PATH = '/v1/video/generations'
const SOON_MS = 20_000
/** Workers poll a new job after some seconds, so this is long enough for several polls. */
const ENDED_MS = 60_000

const Job = z.object({ id: z.string(), status: z.string() })
const Listed = z.object({ data: z.array(z.object({ id: z.string() })) })

/** Puts the video on sale at the first seller's provider, once per world. */
async function sell({ market, origin, buyers }: World): Promise<Buyer> {
  const [buyer] = buyers
  if (buyer === undefined) throw new Error('there is no buyer')
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

/** The booked jobs, with the ends of those that are over. */
async function booked({ sql }: World): Promise<readonly Booked[]> {
  const { rows } = await sql.query<Booked>(`select j.rid, s.outcome, s.charge::text as charge
    from job j left join settlement s on s.rid = j.rid order by j.rid`)
  return rows
}

/** Makes the workers poll every open job now, until all are over. */
async function endAll(world: World): Promise<void> {
  await until('every job is over', ENDED_MS, async () => {
    await world.sql.query('update job set poll_at = now() where ended_at is null and asker is null')
    return (await booked(world)).every(({ outcome }) => outcome !== null)
  })
}

/** The request ids of the videos in the list that their buyer sees, once the list is available. */
async function listed(world: World, buyer: Buyer, node = 1): Promise<readonly string[]> {
  let rids: readonly string[] | undefined
  await until('the list is available', ENDED_MS, async () => {
    rids = await listNow(world, buyer, node)
    return rids !== undefined
  })
  return rids ?? []
}

/** Undefined while records of jobs are being restored. */
async function listNow({ origin }: World, { key }: Buyer, node: number): Promise<readonly string[] | undefined> {
  const answer = await fetch(`${origin(node)}/v1/videos?limit=100`, { headers: { authorization: `Bearer ${key}` } })
  if (answer.status === 503) return undefined
  return Listed.parse(await answer.json()).data.map(({ id }) => id.slice('job_'.length))
}

/**
 * Polls jobs until each is shown, again and again. No poll may report one of them as unknown, and a list has all of
 * them or is refused.
 */
async function watchRestored({ world, require }: Stage, buyer: Buyer, rids: readonly string[]): Promise<void> {
  let hidden: readonly string[] = rids
  await until('every job is shown again', ENDED_MS, async () => {
    const list = await listNow(world, buyer, 0)
    for (const rid of list === undefined ? [] : rids) require(list?.includes(rid) === true, `${rid} left the list`)
    const states = await Promise.all(hidden.map((rid, index) => ask(world, buyer, rid, index % 2)))
    for (const [index, state] of states.entries()) require(state !== '404', `${hidden[index]} does not exist any more`)
    hidden = hidden.filter((_rid, index) => /^\d+$/.test(states[index] ?? ''))
    return hidden.length === 0 && list !== undefined
  })
}

/**
 * The node dies at a place of a submit, and starts again. A job that its provider runs is paid and shown, or its hold
 * never existed.
 */
async function dieInSubmit(stage: Stage, points: readonly CrashPoint[]): Promise<void> {
  const { world } = stage
  const node = world.dataPlanes[0]
  const buyer = await sell(world)
  for (const point of points) {
    const before = (await booked(world)).length
    const shown = await listed(world, buyer)
    await node.kill()
    await node.start({ environment: { CRASH_AT: `${point}#1` }, mustEnd: true })
    await world.untilPaid()
    const answer = await submit(world, buyer).catch(() => undefined)
    stage.require(answer === undefined, `${point}: the submit was answered with ${answer?.status}`)
    stage.require(wasKilled(await node.ended()), `${point}: the node did not die`)
    await node.start()
    // Before the journal has the job, its buyer has no answer: the hold expires, and the buyer pays nothing.
    if (point === 'job_taken') {
      const more = (await listed(world, buyer)).length - shown.length
      stage.require(more === 0, `${point}: the list has an unpaid job`)
      continue
    }
    await until('the submit is booked', SOON_MS, async () => (await booked(world)).length === before + 1)
    const rid = (await booked(world)).at(-1)?.rid ?? ''
    await endAll(world)
    await requireEnds(stage, buyer, [rid])
  }
  stage.figure('jobs', (await booked(world)).length)
}

/** Checks that each of these jobs has ended once, at its cost, and that its buyer sees it. */
async function requireEnds({ world, require }: Stage, buyer: Buyer, rids: readonly string[]): Promise<void> {
  const ends = new Map((await booked(world)).map((end) => [end.rid, end]))
  const list = await listed(world, buyer)
  for (const rid of rids) {
    const end = ends.get(rid)
    require(end?.charge === String(COST_MICRO), `${rid}: its end costs ${end?.charge}`)
    const state = await ask(world, buyer, rid)
    require(state === 'succeeded', `${rid}: its buyer is shown ${state}`)
    require(list.includes(rid), `${rid} is not in the list`)
  }
}

/** Submits jobs at both nodes in turn. */
async function submitSome(world: World, buyer: Buyer, count: number): Promise<readonly string[]> {
  const rids: string[] = []
  for (let job = 0; job < count; job++) {
    const answer = await submit(world, buyer, job % 2)
    rids.push(Job.parse(await answer.json()).id.slice('job_'.length))
  }
  return rids
}

async function untilBooked(world: World, rids: readonly string[]): Promise<void> {
  await until('the submits are booked', SOON_MS, async () => {
    const known = new Set((await booked(world)).map(({ rid }) => rid))
    return rids.every((rid) => known.has(rid))
  })
}

/**
 * Redis is emptied while jobs are open. No worker knows two of them, which are only in a journal, nor that two films
 * are over, of which the buyer has deleted one.
 */
async function emptyRedis(stage: Stage, count: number): Promise<void> {
  const { world } = stage
  const buyer = await sell(world)
  const [deleted = '', over = '', ...known] = await submitSome(world, buyer, count + 1)
  await untilBooked(world, [deleted, over, ...known])
  for (const worker of world.workers) worker.signal('SIGSTOP')
  const open = [...known, ...(await submitSome(world, buyer, 2))]
  for (const rid of [deleted, over]) {
    await until('a film is there', SOON_MS, async () => (await ask(world, buyer, rid)) === 'succeeded')
  }
  const headers = { authorization: `Bearer ${buyer.key}` }
  const { ok } = await fetch(`${world.origin(1)}/v1/videos/job_${deleted}`, { method: 'DELETE', headers })
  stage.require(ok, 'the film is not deleted')
  await world.money().flushall()
  for (const worker of world.workers) worker.signal('SIGCONT')
  await watchRestored(stage, buyer, [over, ...open])
  await world.untilPaid()
  await untilBooked(world, open)
  await endAll(world)
  await requireEnds(stage, buyer, [over, ...open])
  const end = (await booked(world)).find(({ rid }) => rid === deleted)
  stage.require(end?.charge === String(COST_MICRO), `the deleted film costs ${end?.charge}`)
  for (const node of [0, 1]) {
    stage.require((await ask(world, buyer, deleted, node)) === '404', `node ${node} shows a film that was deleted`)
    stage.require(!(await listed(world, buyer, node)).includes(deleted), `node ${node} lists a film that was deleted`)
  }
}

/** Every process and server except the providers stops at once while jobs are open, and starts again. */
async function stopEverything(stage: Stage, count: number): Promise<void> {
  const { world } = stage
  const buyer = await sell(world)
  const rids = await submitSome(world, buyer, count)
  await untilBooked(world, rids)
  // Some jobs were polled once, and some are over and shown.
  for (const [index, rid] of rids.entries()) {
    for (let question = 0; question < index % 3; question++) await ask(world, buyer, rid, question)
  }
  const processes = [...world.dataPlanes, world.control, ...world.workers]
  await Promise.all([...processes, world.redis(), world.postgres].map((each) => each.kill()))
  await world.heal()
  await endAll(world)
  await requireEnds(stage, buyer, rids)
}

export const JOB_ROWS: readonly Row[] = [
  {
    number: 'N05',
    title: 'a data plane dies while it submits a long job: at each place before the journal has it, and after',
    isQuick: true,
    run: (stage) => dieInSubmit(stage, stage.isQuick ? ['job_settled'] : ['job_taken', 'job_settled', 'job_written']),
  },
  {
    number: 'N07a',
    title: 'money Redis emptied while jobs are open',
    isQuick: true,
    run: (stage) => emptyRedis(stage, stage.isQuick ? 3 : 12),
  },
  {
    number: 'N07b',
    title: 'every process and server of the market stops while jobs are open',
    run: (stage) => stopEverything(stage, stage.isQuick ? 3 : 12),
  },
]
