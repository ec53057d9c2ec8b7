import type { Funds } from '#data-plane/payment.ts'
import type { FundNews } from '#data-plane/store/fund-news.ts'
import type { Clock } from '#shared/clock.ts'
import { toAppError } from '#shared/errors.ts'
import type { CallTraces } from './call-traces.ts'
import type { Metrics } from './metrics.ts'

type Watchers = {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'reserved'>
  readonly traces: CallTraces | undefined
  readonly news: FundNews
}

/** Wraps the gate with metrics, traces and announcements. No call waits for them. */
export function watchFunds(funds: Funds, { clock, metrics, traces, news }: Watchers): Funds {
  const timed: Funds = {
    ...funds,
    reserve(request) {
      const startedAt = clock.monotonic()
      const holding = funds.reserve(request)
      holding.then(
        () => {
          metrics.reserved(clock.monotonic() - startedAt, true)
          news.changed(request.account)
        },
        () => metrics.reserved(clock.monotonic() - startedAt, false),
      )
      return holding
    },
    async capture(hold, usedMicro, event) {
      const captured = await funds.capture(hold, usedMicro, event)
      news.changed(hold.account)
      return captured
    },
    async release(hold, reason, event) {
      await funds.release(hold, reason, event)
      news.changed(hold.account)
    },
  }
  return traces === undefined ? timed : traced(timed, traces)
}

function traced(funds: Funds, traces: CallTraces): Funds {
  return {
    ...funds,
    reserve(request) {
      const end = traces.begin(request.rid, 'reserve')
      const holding = funds.reserve(request)
      holding.then(
        () => end(),
        (thrown: unknown) => end(toAppError(thrown).code),
      )
      return holding
    },
    async capture(hold, usedMicro, event) {
      const end = traces.begin(hold.rid, 'settle')
      const captured = await funds.capture(hold, usedMicro, event)
      end()
      return captured
    },
    async release(hold, reason, event) {
      const end = traces.begin(hold.rid, 'settle')
      await funds.release(hold, reason, event)
      end()
    },
  }
}
