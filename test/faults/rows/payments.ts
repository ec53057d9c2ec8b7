import { setTimeout as pause } from 'node:timers/promises'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { Program } from '#test/faults/harness/process.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { WalletLoad } from '#test/faults/harness/wallets.ts'
import { compareWallets, startWalletLoad } from '#test/faults/harness/wallets.ts'
import type { World, WorldChain } from '#test/faults/harness/world.ts'
import type { RpcFault } from '#test/support/chain/rpc-relay.ts'
import { until } from '#test/support/run/until.ts'
import { endOf } from './deaths.ts'

/** Successful calls between two faults. */
const CALLS_BETWEEN = 12
const GOES_ON_MS = 60_000
const FAULT_MS = 1_500

/** Runs a row beside buyers that pay by wallet, and compares chain and ledger at its end. */
async function beside(stage: Stage, run: (at: WorldChain, load: WalletLoad) => Promise<void>): Promise<void> {
  const { world } = stage
  const { chain: at } = world
  if (at === undefined) throw new Error('the world has no chain')
  const load = await startWalletLoad(world, at)
  try {
    await goesOn(load)
    await run(at, load)
    await world.heal()
    await goesOn(load)
  } finally {
    await load.stop()
  }
  for (const wrong of await compareWallets(world, at, load)) stage.require(false, wrong)
  stage.figure('payments', load.calls.length)
  stage.figure('served', servedOf(load))
}

const servedOf = ({ calls }: WalletLoad) => calls.filter(({ served }) => served.size > 0).length

/** Waits until some more calls are served. */
async function goesOn(load: WalletLoad): Promise<void> {
  const before = servedOf(load)
  await until('wallets are served', GOES_ON_MS, () => servedOf(load) >= before + CALLS_BETWEEN)
}

type Death = { readonly point: CrashPoint; readonly of: (world: World) => Program; readonly passage: number }

const control = ({ control: program }: World) => program
const worker = ({ workers: [program] }: World) => program ?? raise()
const node = ({ dataPlanes: [program] }: World) => program

function raise(): never {
  throw new Error('there is no worker')
}

/** The named places in the code of a payment: claim, service, signature, broadcast, block and booking. */
const DEATHS: readonly Death[] = [
  ...(['before_claim', 'after_claim', 'before_sign', 'after_sign', 'after_broadcast', 'payment_mined'] as const).map(
    (point) => ({ point, of: control, passage: 4 }),
  ),
  ...(['payment_in_tx', 'payment_booked'] as const).map((point) => ({ point, of: worker, passage: 2 })),
  ...(
    ['before_dispatch', 'after_headers', 'after_first_content', 'before_C', 'before_capture', 'after_capture'] as const
  ).map((point) => ({ point, of: node, passage: 5 })),
]
const FEW: readonly CrashPoint[] = ['after_claim', 'after_sign', 'after_broadcast', 'before_capture']

async function dieOnTheWay(stage: Stage): Promise<void> {
  const { world, isQuick } = stage
  const deaths = DEATHS.filter(({ point }) => !isQuick || FEW.includes(point))
  await beside(stage, async (_at, load) => {
    for (const { point, of, passage } of deaths) {
      const program = of(world)
      await program.kill()
      await program.start({ environment: { CRASH_AT: `${point}#${passage}` }, mustEnd: true, isHasty: true })
      const code = await endOf(program)
      stage.require(wasKilled(code), `${point}: ended with ${code}`)
      if (code === -1) await program.kill()
      await program.start()
      await goesOn(load)
    }
  })
  stage.figure('deaths', deaths.length)
}

const RPC_FAULTS: readonly (readonly [method: string, fault: RpcFault])[] = [
  ['eth_sendRawTransaction', { kind: 'done-unheard' }],
  ['eth_sendRawTransaction', { kind: 'done-cut' }],
  ['eth_sendRawTransaction', { kind: 'done-refused', message: 'already known' }],
  ['eth_sendRawTransaction', { kind: 'dropped' }],
  ['eth_sendRawTransaction', { kind: 'twice' }],
  ['eth_getTransactionReceipt', { kind: 'answer', result: null }],
  ['eth_getTransactionReceipt', { kind: 'hang' }],
  ['eth_call', { kind: 'nonsense' }],
  ['eth_chainId', { kind: 'answer', result: '0x1' }],
  ['*', { kind: 'status', status: 500 }],
  ['*', { kind: 'down' }],
  ['*', { kind: 'hang' }],
]

async function faultTheChain(stage: Stage): Promise<void> {
  const faults = stage.isQuick ? RPC_FAULTS.slice(0, 4) : RPC_FAULTS
  await beside(stage, async ({ rpc }, load) => {
    for (const [method, fault] of faults) {
      rpc.fault(method, fault)
      await pause(FAULT_MS)
      rpc.pass()
      await goesOn(load)
    }
  })
  stage.figure('faults', faults.length)
}

/** Servers that die under payments, in turn. */
async function killServers(stage: Stage): Promise<void> {
  const { world } = stage
  await beside(stage, async (_at, load) => {
    for (const server of [world.postgres, world.redis(), world.cache]) {
      await server.kill()
      await pause(FAULT_MS)
      await world.heal()
      await goesOn(load)
    }
  })
}

const world = { hasChain: true } as const

export const PAYMENT_ROWS: readonly Row[] = [
  { number: 'F35a', title: 'a chain that fails in every way under payments of wallets', world, run: faultTheChain },
  { number: 'F35b', title: 'deaths at every place on the way of a payment', isQuick: true, world, run: dieOnTheWay },
  { number: 'F35c', title: 'servers that die under payments of wallets', world, run: killServers },
]
