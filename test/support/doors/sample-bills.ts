import { invoke } from '#control-plane/operation/invoke.ts'
import { putProvider } from '#control-plane/services/catalog/catalog.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { operator } from './control-plane.ts'
import type { DoorWorld } from './door-world.ts'

/** A bill of today as a file. */
export const billOfToday = () => `date,model,cost_usd\n${utcDay(Date.now())},gpt-test,0.25`

/**
 * Adds the sample provider to the list a second time, as a provider with a report, and gives it a bill of yesterday.
 */
export async function reportingProvider({ market: { plane, provider } }: DoorWorld) {
  const baseUrl = provider.url.replace('127.0.0.1', 'localhost')
  await invoke(plane, operator, putProvider, { id: 'openai', name: 'OpenAI', baseUrl, isTrusted: false })
  const lines = [{ day: utcDay(Date.now() - DAY), model: 'gpt-test', line: 'input', usd: 0.5 }]
  await fetch(new URL('/__sandbox/bills', provider.url), { method: 'POST', body: JSON.stringify({ lines }) })
  return { provider: 'openai', adminKey: 'sk-admin-of-a-test', days: 3 }
}
