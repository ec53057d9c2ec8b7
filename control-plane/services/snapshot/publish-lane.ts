import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'

/** Most models of one turn. While more wait, an operation answers before its change is published. */
const MODELS_A_TURN = 8
/**
 * Longest rest after a full turn. The lane rests as long as it worked, so that a storm of changes cannot stop the
 * service.
 */
const MAX_REST_MS = 5 * SECOND

/** Queues models for `publish`, which never throws. Resolves when they are published, or at once while many wait. */
export type PublishLane = (models: readonly string[]) => Promise<void>

/**
 * Runs turns one after another. A publication writes all offers of a model, so all changes of a model before its turn
 * are published together. Models are published in the order of their first change.
 */
export function createPublishLane(clock: Time, publish: (models: readonly string[]) => Promise<void>): PublishLane {
  const waiting = new Set<string>()
  let running = Promise.resolve()
  /** The turn after the current one. */
  let next: Promise<void> | undefined
  let restMs = 0

  function nextTurn(): Promise<void> {
    if (next === undefined) {
      next = running.then(takeTurn)
      running = next
    }
    return next
  }

  async function takeTurn(): Promise<void> {
    if (restMs > 0) await clock.sleep(restMs)
    const models = [...waiting].slice(0, MODELS_A_TURN)
    for (const model of models) waiting.delete(model)
    next = undefined
    const startedAt = clock.monotonic()
    await publish(models)
    const tookMs = clock.monotonic() - startedAt
    restMs = waiting.size > MODELS_A_TURN ? Math.min(tookMs, MAX_REST_MS) : 0
    if (waiting.size > 0) void nextTurn()
  }

  return async (models) => {
    for (const model of models) waiting.add(model)
    const turn = nextTurn()
    if (waiting.size <= MODELS_A_TURN) await turn
  }
}
