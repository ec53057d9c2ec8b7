import { readdir, readFile, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Hold } from '#data-plane/call.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/gate.ts'
import { eventText, figures, reserveRequest, startGateWorld, untilOpen } from '#test/support/gate.ts'
import { until } from '#test/support/until.ts'

let world: GateWorld
beforeEach(async () => {
  world = await startGateWorld()
})
afterEach(() => world.stop())

async function capture(node: Node, hold: Hold, used: number, isToldToGate: boolean): Promise<void> {
  const event = eventText(hold, used, node.id)
  node.journal.capture(hold, event)
  if (isToldToGate) await node.funds.capture(hold, microUsd(used), event)
}

describe('the captures of a node that dies', () => {
  it('are brought to the gate by one that lives, which takes it off the record, without any restart', async () => {
    const journalDir = `${world.folder}/journal`
    const [living, dying] = [await world.node('living', { journalDir }), await world.node('dying', { journalDir })]
    await Promise.all([untilOpen(living), untilOpen(dying)])
    const account = await world.account(1_000)
    const told = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    await capture(dying, told, 70, true)
    const untold = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    const running = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    const event = eventText(running, 30, 'dying')
    dying.journal.progress({ hold: running, offer: null, outputTokens: 30, chargeMicro: microUsd(30), event })
    const idle = await dying.funds.reserve(reserveRequest(account, { want: 100 }))
    // It dies with a capture on the disk that the gate has not heard of.
    await capture(dying, untold, 80, false)
    await dying.drop()
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 300, u: 70, free: 630 })
    await markDead(journalDir, dying)

    await until('all of it is captured', 10_000, async () => (await figures(world.gate, account))?.u === 180)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 100, u: 180, free: 720 })
    expect(await living.funds.find(account, running.rid)).toMatchObject({ state: 'captured', used: 30n })
    expect(await living.funds.find(account, idle.rid)).toMatchObject({ state: 'open' })
    expect(living.funds.isOpen()).toBe(true)
    await until('the dead one is off the record', 5_000, async () => {
      const rows = await world.db.selectFrom('node').select('id').where('retired_at', 'is', null).execute()
      return rows.length === 1 && rows[0]?.id === living.journal.member
    })
    expect(living.journal.inherited()).toEqual([])
  })
})

/** Makes a lock that of a process that is gone: its own pid, begun at another time. */
async function markDead(root: string, node: Node): Promise<void> {
  const boot = (await readdir(root)).find((name) => node.journal.member.endsWith(name)) ?? ''
  const path = `${root}/${boot}/lock.json`
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), startTicks: '1' }))
}
