import type { OfferCaps } from '#data-plane/call.ts'
import type { Clock } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { CapTake } from '#shared/contract/money-scripts/uses.ts'
import { decodeCapTake, encodeCapSettle, encodeCapTake, usedToday } from '#shared/contract/money-scripts/uses.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError, describeCause } from '#shared/errors.ts'
import type { OfferId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import type { MicroUsd } from '#shared/money.ts'
import { ZERO } from '#shared/money.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'
import type { GateMember, Membership } from './gate-member.ts'
import { isInPhase } from './gate-member.ts'
import type { MoneyConnection } from './money-connection.ts'
import { isMissingScript } from './money-connection.ts'

type Take = CapTake & { epoch: number }
type Settled = { readonly take: Take; readonly usedMicro: MicroUsd }

/** Most settlements of takes that wait for Redis. Beyond it the oldest is left to the take's deadline. */
const MAX_WAITING = 10_000
const MAX_READS = 1_000

type Ports = {
  readonly gate: { readonly connection: MoneyConnection; readonly member: GateMember }
  readonly clock: Clock
  readonly log: Logger
}

export type OfferCapsStore = OfferCaps & {
  /** Used and held amounts of today's caps by offer, for at most 1,000 offers. Empty without Redis. */
  usedToday(offers: readonly OfferId[]): Promise<ReadonlyMap<OfferId, MicroUsd>>
  /**
   * Brings takes into an epoch that this process registers in: those of running calls and those whose settlement waits.
   * Takes go before the holds, so that a process that finds a hold there can rely on its take. Throws AppError
   * `service_unavailable` when the epoch moved on, and passes on the errors of the connection.
   */
  bringAll(membership: Membership): Promise<void>
  /** Sends the waiting settlements. Called when the gate opens. */
  resume(): Promise<void>
}

/** Daily caps of offers in Redis. An offer without a cap is never counted. */
export function createOfferCaps({ gate, clock, log }: Ports): OfferCapsStore {
  const { connection, member } = gate
  const takes = createTurnoverMap<string, Take>()
  let waiting: Settled[] = []

  async function run(membership: Membership, take: CapTake): Promise<'taken' | 'full' | 'stale'> {
    try {
      return decodeCapTake(await connection.run(membership.scripts.capTake, encodeCapTake(take)))
    } catch (error) {
      if (isMissingScript(error)) member.doubt('the server does not know the scripts', membership)
      log.warn({ cause: describeCause(error), offer: take.offer }, 'a cap could not be read')
      return 'stale'
    }
  }

  async function settle(settled: Settled): Promise<void> {
    const { take, usedMicro } = settled
    const membership = member.open()
    try {
      // A rebuild counts unposted captures by their takes. A take that ended before the rebuild counted would be
      // counted a second time.
      if (membership === undefined) throw new Error('the gate is closed')
      // A free take has nothing to settle once its epoch is over.
      if (usedMicro === ZERO && take.epoch !== membership.epoch) return
      await bring(membership, take)
      await connection.run(membership.scripts.capSettle, encodeCapSettle(take.offer, take.attempt, usedMicro))
    } catch (error) {
      if (isMissingScript(error) && membership) member.doubt('the server does not know the scripts', membership)
      waiting.push(settled)
      if (waiting.length > MAX_WAITING) waiting.shift()
    }
  }

  /**
   * Brings a take into an epoch and ignores the cap. A take that the rebuild has counted exists already, and one of an
   * earlier day is left out.
   */
  async function bring({ epoch, scripts }: Membership, take: Take): Promise<void> {
    if (take.epoch === epoch) return
    const reply = await connection.run(scripts.capTake, encodeCapTake({ ...take, capMicro: null }))
    if (decodeCapTake(reply) === 'stale') throw new AppError('service_unavailable')
    take.epoch = epoch
  }

  return {
    async take(offer, attempt, amountMicro, ttlMs) {
      if (offer.id === null || offer.capDailyMicro === null) return true
      const membership = member.open()
      if (membership === undefined) return false
      const { epoch } = membership
      const [capMicro, takenAt] = [offer.capDailyMicro, clock.now()]
      const take: Take = { offer: offer.id, attempt, amountMicro, ttlMs, capMicro, takenAt, epoch }
      const [answer, isOpen] = await Promise.all([
        run(membership, take),
        isInPhase(connection, membership, 'open').catch(() => undefined),
      ])
      // A server that was emptied still knows the script but has lost the used amounts.
      if (isOpen === false) member.doubt('the epoch is gone', membership)
      // The take may have happened although its answer was lost or is not trusted. The settlement with zero returns it.
      if (answer === 'stale' || !isOpen) void settle({ take, usedMicro: ZERO })
      if (answer !== 'taken' || !isOpen) return false
      takes.set(attempt, take)
      return true
    },
    async settle(_offer, attempt, usedMicro) {
      const take = takes.get(attempt)
      if (take === undefined) return
      takes.delete(attempt)
      await settle({ take, usedMicro })
    },
    usedToday: (offers) => readUsed(connection, offers, utcDay(clock.now())),
    async bringAll(membership) {
      const chargedWaiting = waiting.filter(({ usedMicro }) => usedMicro !== ZERO)
      const broughtTakes = [...takes.values(), ...chargedWaiting.map((settled) => settled.take)]
      for (let start = 0; start < broughtTakes.length; start += MAX_BATCH) {
        await Promise.all(broughtTakes.slice(start, start + MAX_BATCH).map((take) => bring(membership, take)))
      }
    },
    async resume() {
      const again = waiting
      waiting = []
      await Promise.all(again.map(settle))
    },
  }
}

async function readUsed(
  { reads }: MoneyConnection,
  offers: readonly OfferId[],
  today: string,
): Promise<ReadonlyMap<OfferId, MicroUsd>> {
  const askedOffers = offers.slice(0, MAX_READS)
  const usedMicro = new Map<OfferId, MicroUsd>()
  const rows = await Promise.all(
    askedOffers.map((offer) => reads.hmget(moneyKeys.offerCap(offer), 'd', 'du').catch(() => undefined)),
  )
  for (const [index, offer] of askedOffers.entries()) {
    const row = rows[index]
    if (row !== undefined) usedMicro.set(offer, usedToday(row[0] ?? null, row[1] ?? null, today))
  }
  return usedMicro
}
