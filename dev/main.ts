import { parseArgs } from 'node:util'
import { createCrew } from '#dev/network/crew.ts'
import type { Home } from '#dev/network/home.ts'
import { openHome } from '#dev/network/home.ts'
import { tailOf } from '#dev/network/programs.ts'
import type { Sandbox } from '#dev/network/sandbox-file.ts'
import { describeSandbox, removeSandbox, writeSandbox } from '#dev/network/sandbox-file.ts'
import { makeSignInLinks } from '#dev/network/sign-in-links.ts'
import { HISTORY, SERVICES, STOP_ORDER, startNetwork } from '#dev/network/start.ts'

const log = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`)

/** Runs the network until a signal or a failure. Returns the exit code. */
async function runNetwork(
  home: Home,
  options: { readonly history: number; readonly newSecrets: boolean },
): Promise<number> {
  const file = home.path('sandbox.json')
  removeSandbox(file)
  /** The file's present content. Undefined while the network does not answer. */
  let sandbox: (() => Sandbox) | undefined
  let described = ''
  const ending = new AbortController()
  let finish: (code: number) => void = () => undefined
  const finished = new Promise<number>((resolve) => {
    finish = resolve
  })
  const crew = createCrew({
    report: (line, member) => {
      if (member === HISTORY && line.endsWith('code 0')) return log('the past of the market is filled in')
      log(line)
      if (line.includes('ended')) console.error(tailOf(home.path(`logs/${member.replaceAll('_', '-')}.log`)))
    },
    onPidsChange: (pids) => {
      home.noteChildren(Object.values(pids))
      if (!sandbox) return
      writeSandbox(file, sandbox())
      const now = describeSandbox(sandbox(), file, [])
      if (now !== described) log(`an address has changed: ${file} says where everything is now`)
      described = now
    },
    onGiveUp: (member) => {
      log(`${member} keeps ending: giving up`)
      finish(1)
    },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => finish(0))

  const began = performance.now()
  void startNetwork({ home, crew, log, port: firstPort(), ...options, ...givenServices() }).then(
    async (started) => {
      if (ending.signal.aborted) return
      sandbox = started
      writeSandbox(file, sandbox())
      described = describeSandbox(started(), file, [])
      console.log(describeSandbox(started(), file, await makeSignInLinks(started())))
      log(`ready after ${((performance.now() - began) / 1_000).toFixed(1)} s`)
    },
    (error: unknown) => {
      if (!ending.signal.aborted) console.error(error instanceof Error ? error.message : error)
      finish(1)
    },
  )
  const code = await finished
  ending.abort()
  log('stopping')
  sandbox = undefined
  removeSandbox(file)
  const providers = Object.keys(crew.pids()).filter((name) => name.startsWith('provider_'))
  await crew.stop([...STOP_ORDER, providers, SERVICES])
  removeSandbox(file)
  return code
}

function firstPort(): number | undefined {
  const port = process.env['PORT']
  return port === undefined || port === '' ? undefined : Number(port)
}

function givenServices() {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, CHAIN_RPC_URL: chainRpcUrl } = process.env
  return { databaseUrl, redisUrl, chainRpcUrl }
}

/** The number of past calls without `--history`. It is small, so that they exist seconds after the start. */
const DEFAULT_HISTORY = '4000'
const { values } = parseArgs({
  options: {
    reset: { type: 'boolean', default: false },
    'new-secrets': { type: 'boolean', default: false },
    history: { type: 'string', default: DEFAULT_HISTORY },
  },
})
try {
  const home = await openHome(process.env['MARKET_HOME'] ?? '.market', values.reset)
  const options = { history: Number(values.history) || 0, newSecrets: values['new-secrets'] }
  const code = await runNetwork(home, options)
  home.release()
  process.exit(code)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
