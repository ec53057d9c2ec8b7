import { expect, it } from 'vitest'
import { uptimeDays } from '#control-plane/dashboard/charts/uptime-cells.ts'
import { foldIncidents } from '#control-plane/dashboard/market/folded-incidents.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const outage = (startedAt: number, minutes: number | null, provider = 'p') => ({
  model: 'm',
  provider,
  cause: 'server_error',
  startedAt,
  endedAt: minutes === null ? null : startedAt + minutes * MINUTE,
  offers: 1,
  offersOnSale: 2,
})

it('successive outages of minutes are one incident, and another provider has its own', () => {
  const folded = foldIncidents([outage(3 * HOUR, 4), outage(HOUR, 2), outage(2 * HOUR, 5, 'q'), outage(30 * HOUR, 1)])
  expect(
    folded.map(({ provider, times, downMs, startedAt }) => [provider, times, downMs / MINUTE, startedAt / HOUR]),
  ).toEqual([
    ['p', 1, 1, 30],
    ['q', 1, 5, 2],
    ['p', 2, 6, 1],
  ])
})

it('an outage whose cause changes stays one incident, with the last cause', () => {
  const causes = ['timeout', 'rate_limited', null]
  const folded = foldIncidents(causes.map((cause, at) => ({ ...outage(at * 5 * MINUTE, 2), cause })))
  expect(folded.map(({ times, cause }) => [times, cause])).toEqual([[3, 'rate_limited']])
})

it('an incident with a running outage is open', () => {
  const [incident] = foldIncidents([outage(HOUR, 2), outage(2 * HOUR, null)])
  expect([incident?.times, incident?.endedAt, incident?.downMs]).toEqual([2, null, 2 * MINUTE])
})

it('a strip has a cell for each day until today; a day without calls is unknown', () => {
  const today = Date.UTC(2_026, 10, 28)
  const cells = uptimeDays([{ bucket: today - 24 * HOUR, hours: 24, uptimePct: 99, uptimeBase: 7 }], today + HOUR, 3)
  expect(cells.map(({ uptimePct, base }) => [uptimePct, base])).toEqual([
    [null, 0],
    [99, 7],
    [null, 0],
  ])
})
