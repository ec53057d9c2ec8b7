import type { RequestHead } from '#data-plane/call.ts'
import { showJob } from '#data-plane/pipeline/jobs/show-job.ts'
import { submitJob } from '#data-plane/pipeline/jobs/submit-job.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { Received } from '#test/sim/model/buyer-reply.ts'
import { costIn, createReply } from '#test/sim/model/buyer-reply.ts'
import type { ModelJob } from '#test/sim/model/model-jobs.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { JobPlan, JobQuestion } from '#test/sim/plan/job-plan.ts'
import type { Buyer } from '#test/sim/providers/market.ts'
import { VIDEO_MODEL } from '#test/sim/providers/market.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { DataNode, NodeParts } from '#test/sim/world/data-node.ts'
import type { Machine } from '#test/sim/world/machine.ts'
import { checkTakes } from '#test/sim/world/watched.ts'
import { acknowledge } from './play-call.ts'

const PATH = '/v1/video/generations'

/** Submits a long job through the product's own pipeline. Then the buyer polls the job as planned. */
export async function playJob(
  parts: NodeParts,
  machines: readonly Machine[],
  first: number,
  plan: JobPlan,
): Promise<void> {
  const machine = machines[first % machines.length]
  const node = machine?.node()
  if (machine === undefined || node === undefined || node.calls.isEnding) return
  const { market, watch } = parts
  const buyer = market.buyers[plan.buyer % market.buyers.length] ?? market.buyers[0]
  const rid = node.ids.requestId()
  const { account, keyId } = buyer
  const submit = watch.model.start({ rid, account, keyId, machine: machine.id, pid: node.process.pid })
  const job: ModelJob = {
    plan,
    submit,
    prices: market.pricesOf(VIDEO_MODEL),
    taken: new Map(),
    askedBps: [],
    question: undefined,
    heard: [],
    asking: 0,
    end: undefined,
    endText: undefined,
    isEndedUnasked: false,
    submittedAt: watch.ground.scheduler.now(),
  }
  watch.model.jobs.set(rid, job)
  const prompt = parts.providers.jobs.expect(job)
  const body = Buffer.from(JSON.stringify({ model: VIDEO_MODEL, prompt, seconds: plan.seconds }))
  const head = headOf(node, buyer, rid, { method: 'POST', path: PATH, params: {} })
  let isTaken = false
  const reply = createReply(node.process, 0, (received) => {
    isTaken = received.status === 202
    if (isTaken) told(node, job, received)
  })
  node.calls.running += 1
  await submitJob(
    node.jobs,
    node.routes.video,
    { head, read: () => Promise.resolve({ ...head, body }), largeBytes: () => 0 },
    reply,
  )
  node.calls.running -= 1
  over(parts, job, isTaken)
  if (isTaken) askInTurn({ parts, machines, job, buyer, createdAt: head.receivedAt })
}

type Line = Pick<RequestHead, 'method' | 'path' | 'params'>

function headOf({ process: { time } }: DataNode, { keyId }: Buyer, requestId: RequestHead['requestId'], line: Line) {
  return {
    ...line,
    requestId,
    query: new URLSearchParams(),
    headers: { authorization: `Bearer ${keyId}`, 'content-type': 'application/json' },
    pathFloorPercent: undefined,
    peer: () => '127.0.0.1',
    receivedAt: time.now(),
    startedAt: time.monotonic(),
  } satisfies RequestHead
}

/** I12: a buyer sees a job only after its whole quote is captured. */
function told(node: DataNode, { submit }: ModelJob, { text }: Received): void {
  if (submit.state !== 'captured') {
    node.watch.fail(violation('I12', `${submit.rid} is taken and ${submit.state}: ${text}`))
  }
  acknowledge(node, submit)
}

/** Checks a submit as soon as it is over. */
function over({ watch: { model } }: NodeParts, { submit, taken }: ModelJob, isTaken: boolean): void {
  if (submit.state === 'asking') {
    submit.state = 'refused'
    model.unresolved.delete(submit)
  }
  if (submit.state === 'running') throw violation('I6', `${submit.rid} is over and its hold has no end`)
  if (isTaken && submit.state !== 'captured') throw violation('I6', `${submit.rid} is taken and ${submit.state}`)
  // The provider that was asked last has the job.
  checkTakes(submit, model, [...taken.values()].at(-1)?.isCapped === true)
}

/** A running job from the view of its buyer's polls. */
type Running = {
  readonly parts: NodeParts
  readonly machines: readonly Machine[]
  readonly job: ModelJob
  readonly buyer: Buyer
  /** The time of the submit by the clock of the process that accepted the job. The binding begins then. */
  readonly createdAt: number
}

/** Polls the job one time after the other. A poll without an answer is followed by the next one. */
function askInTurn(running: Running): void {
  const { parts, machines, job } = running
  const { scheduler } = parts.watch.ground
  const next = (index: number): void => {
    const question = job.plan.questions[index]
    if (question === undefined) return
    scheduler.after(question.afterMs, () => {
      const machine = machines[question.machine % machines.length]
      if (machine === undefined) return
      let isOver = false
      const after = () => {
        if (!isOver) next(index + 1)
        isOver = true
      }
      // The polled process may die.
      scheduler.after(PATIENCE_MS, after)
      ask(running, machine, question).then(after, parts.watch.fail)
    })
  }
  next(0)
}

const PATIENCE_MS = 40_000

async function ask(running: Running, machine: Machine, question: JobQuestion): Promise<void> {
  const { parts, job, buyer } = running
  const node = machine.node()
  if (node === undefined || node.calls.isEnding) return
  const id = `job_${job.submit.rid}`
  const method = question.isCancel ? 'DELETE' : 'GET'
  const head = headOf(node, buyer, node.ids.requestId(), { method, path: `${PATH}/${id}`, params: { id } })
  const end = openEnd(parts, machine, node, job)
  job.question = question
  job.heard.length = 0
  job.asking += 1
  node.calls.running += 1
  try {
    checkAnswer(node, job, end, (await showJob(node.jobs, node.routes.video, head, question.isCancel)).text)
    // A provider is never asked to stop a job whose end is booked.
    const isBooked = node.watch.ground.postgres.tables().settlements.has(job.submit.rid)
    if (question.isCancel && job.heard.length > 0 && !isBooked && !job.heard.includes('cancel')) {
      throw violation('simulation', `${id} is to be stopped, and its provider gets no request to stop it`)
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'job_not_found') checkAbsence(running, node)
  } finally {
    job.asking -= 1
    node.calls.running -= 1
  }
}

/** The longest latency of an answer, by which a process's clock may have moved on since the answer was sent. */
const ANSWER_MS = 60_000

/**
 * A job that its buyer has seen exists until its binding ends. When Redis lost the job, no process may call it unknown:
 * its record comes back from the ledger, if the ledger had it then.
 */
function checkAbsence({ parts: { watch }, job, createdAt }: Running, { jobs, process }: DataNode): void {
  const isPast = process.time.now() >= createdAt + jobs.limits.bindingMs - ANSWER_MS
  const { forgottenAt, bookedThen } = watch.model
  if (isPast || (forgottenAt >= job.submittedAt && !bookedThen.has(job.submit.rid))) return
  throw violation('I12', `${job.submit.rid} was shown to its buyer and is unknown to the market`)
}

/** Notes that this process may capture the end of a job. Faults that hit the end before still count. */
function openEnd({ watch: { model } }: NodeParts, machine: Machine, node: DataNode, job: ModelJob): ModelRequest {
  const { account, keyId, rid } = job.submit
  const key = { rid: jobEndId(rid), account, keyId, machine: machine.id, pid: node.process.pid }
  // A process may have captured the end and died before the buyer saw it.
  const known = model.requests.get(key.rid)
  const before = job.end ?? (known?.state === 'captured' ? known : undefined)
  const end = model.start(key)
  for (const fault of before?.faults ?? []) end.faults.add(fault)
  if (before === undefined) return end
  model.unresolved.delete(before)
  const { state, chargeMicro, capturedAt, captured, isAcknowledged } = before
  if (state === 'captured') Object.assign(end, { state, chargeMicro, capturedAt, captured, isAcknowledged })
  if (state === 'captured') job.end = end
  return end
}

/** I13: an end is captured before its buyer sees it, with the cost that is shown. */
function checkAnswer(node: DataNode, job: ModelJob, asked: ModelRequest, text: string): void {
  const costMicro = costIn(text)
  if (costMicro === undefined) return
  // Of several polls at once, the model notes the end at the last one, whichever poll captures it.
  const end = asked.state === 'captured' ? asked : (node.watch.model.requests.get(asked.rid) ?? asked)
  const { rid } = job.submit
  // A worker books an end without a capture.
  const isSettled = node.watch.ground.postgres.tables().settlements.has(rid)
  const isBooked = end.state === 'captured' || job.end !== undefined || isSettled
  if (!isBooked) throw violation('I13', `${rid} is shown to cost ${costMicro} and its end is ${end.state}`)
  if (end.chargeMicro !== undefined && end.chargeMicro !== costMicro) {
    throw violation('I13', `${rid} is shown to cost ${costMicro} and its end says ${end.chargeMicro}`)
  }
  const due = [...job.taken.values()].map((taken) => taken.dueMicro())
  // A worker ends a job without a charge when the provider forgot it or did not answer at the deadline.
  const isGivenUp = job.isEndedUnasked && costMicro === 0n
  if (!due.includes(costMicro) && !isGivenUp) {
    throw violation('I6', `${rid} is shown to cost ${costMicro}, not one of ${due.join()}`)
  }
  job.end = end
  acknowledge(node, end)
}
