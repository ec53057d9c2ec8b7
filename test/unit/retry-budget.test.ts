import { describe, expect, it } from 'vitest'
import { createRetryBudget } from '#data-plane/pipeline/retry-budget.ts'

describe('the retry budget', () => {
  it('covers a burst, then a fifth of the calls [F32]', () => {
    const budget = createRetryBudget(() => 0)
    let burst = 0
    while (budget.spend()) burst++
    expect(burst).toBe(100)
    let granted = 0
    for (let call = 0; call < 10_000; call++) {
      budget.callBegins()
      if (call % 2 === 0 && budget.spend()) granted++
    }
    expect(granted).toBeGreaterThan(1_990)
    expect(granted).toBeLessThanOrEqual(2_000)
  })

  it('refills while no calls come, and never exceeds its maximum', () => {
    let now = 0
    const budget = createRetryBudget(() => now)
    while (budget.spend());
    now = 5_000
    expect([budget.spend(), budget.spend(), budget.spend(), budget.spend(), budget.spend(), budget.spend()]).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ])
    now = 10_000_000
    let burst = 0
    while (budget.spend()) burst++
    expect(burst).toBe(100)
  })
})
