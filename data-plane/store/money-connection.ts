import { Command, Redis } from 'ioredis'
import type { Time } from '#shared/clock.ts'
import type { ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import type { MoneyScript } from '#shared/contract/money-scripts.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'
import { watchSilence } from '#shared/watch-silence.ts'

const RECONNECT_FIRST_MS = 20
const RECONNECT_MOST_MS = 500
/**
 * A server that loads its log announces a time for the next try that is far too late. The client tries again after this
 * interval instead.
 */
const LOADING_LOOK_MS = 50
const CONNECT_TIMEOUT_MS = 2_000
/** A connection without an answer for this long is given up. It may be cut without a sign. */
const SILENCE_MS = 3_000
/** The longest wait for the close of a connection, because a silent server does not confirm it either. */
const GOODBYE_MS = 100
const READ_TIMEOUT_MS = 2_000

/** Events of a connection for the gate's member. */
export type MoneyListeners = {
  /** The connection is open. `runId` names this run of the server. */
  onReady(runId: string): void
  /** The connection broke. A command without an answer may have run or not. */
  onLost(): void
  /** A message about the money epoch arrived. */
  onEpochNews(): void
}

/**
 * The connections of the money path: one ordered connection for all writes, one for reads, one for announcements. On
 * the ordered one no command waits for a server that is away, and the client sends none twice.
 */
export type MoneyConnection = {
  isReady(): boolean
  /** Runs a script by its digest alone. Rejects with NOSCRIPT when the server does not know it. */
  run(script: MoneyScript, batch: ScriptBatch): Promise<unknown>
  /** The ordered connection, for the few commands besides the scripts. */
  readonly writes: Redis
  readonly reads: Redis
  close(): void
}

type Options = { readonly url: string; readonly clock: Time; readonly log: Logger }

export function connectMoney({ url, clock, log }: Options, listeners: MoneyListeners): MoneyConnection {
  const common = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disableClientInfo: true,
    disconnectTimeout: GOODBYE_MS,
    maxLoadingRetryTime: LOADING_LOOK_MS,
    retryStrategy: (times: number) => Math.min(RECONNECT_FIRST_MS * times, RECONNECT_MOST_MS),
  }
  const writes = new Redis(url, common)
  const reads = new Redis(url, { ...common, commandTimeout: READ_TIMEOUT_MS })
  const news = new Redis(url, { ...common, commandTimeout: READ_TIMEOUT_MS })
  let isReady = false

  for (const client of [writes, reads, news]) {
    client.on('error', (error: Error) => log.debug({ cause: describeCause(error) }, 'money connection'))
  }
  writes.on('ready', () => {
    writes.info('server').then(
      (text) => {
        const runId = /run_id:(\w+)/.exec(text)?.[1]
        if (runId === undefined || writes.status !== 'ready') return
        isReady = true
        listeners.onReady(runId)
      },
      () => writes.disconnect(true),
    )
  })
  writes.on('close', () => {
    if (!isReady) return
    isReady = false
    listeners.onLost()
  })
  const stopWatch = watchSilence(clock, writes, SILENCE_MS)
  const subscriptions = createSubscriptions(news, log)
  subscriptions.listen(CHANNELS.money, listeners.onEpochNews, listeners.onEpochNews)

  return {
    isReady: () => isReady,
    run: (script, batch) => runScript(writes, script, batch),
    writes,
    reads,
    close() {
      stopWatch()
      subscriptions.close()
      for (const client of [writes, reads]) client.disconnect()
    },
  }
}

/**
 * Builds an EVALSHA command with its arguments in one array. The client's own method copies the hundreds of them three
 * times.
 */
function runScript(client: Redis, { sha }: MoneyScript, { keys, args }: ScriptBatch): Promise<unknown> {
  const command = new Command('evalsha', [], { replyEncoding: 'utf8' })
  command.args = [sha, String(keys.length)].concat(keys, args)
  // The client returns the command's own promise.
  void client.sendCommand(command)
  return command.promise
}

/** True for the answer of a server that does not have the script, because it was restarted, promoted or rebuilt. */
export function isMissingScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
