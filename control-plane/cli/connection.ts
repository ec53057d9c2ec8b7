import { isLoopbackHost } from '#shared/outbound-guard.ts'
import type { CliConfig, Side } from './config.ts'
import { CommandFailure, usageError } from './failure.ts'
import type { HttpMethod } from './http.ts'
import { callJson, callLines } from './http.ts'
import type { MarketClient } from './market-client.ts'
import { readCredentials, readSandbox, readSecretIn } from './secret-files.ts'

/** The market and the key that the command line asks for. */
export type ConnectionOptions = { readonly url: string | undefined; readonly keyFile: string | undefined }

type Exchange = {
  /** The side whose key the request carries. A request without a side carries no key. */
  readonly side?: Side
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly signal?: AbortSignal
}

/** The market that a command talks to. */
export type Connection = {
  /** Without a trailing slash. */
  readonly url: string
  /** The source of the address. */
  readonly foundIn: string
  readonly folder: string
  key(side: Side): string | undefined
  call(method: HttpMethod, path: string, asked?: Exchange): Promise<unknown>
  lines(method: HttpMethod, path: string, asked?: Exchange): AsyncGenerator<string>
  /** Runs a function with the typed client of the market's operations, and the key of a side. */
  as<Result>(side: Side, run: (client: MarketClient) => Promise<Result>): Promise<Result>
}

/** Finds the market and its keys. Nothing is read before it is needed, and nothing is sent. */
export function connect(config: CliConfig, options: ConnectionOptions): Connection {
  const sandbox = readSandbox(config.sandboxFile)
  const { url, foundIn } = findUrl(config, options, sandbox?.url)
  const control = config.controlUrl === undefined ? url : checkUrl(config.controlUrl, 'MARKET_CONTROL_URL')

  function key(side: Side): string | undefined {
    if (options.keyFile !== undefined) return readSecretIn(options.keyFile).reveal()
    const given = config.keys[side]
    if (given !== undefined) return given.reveal()
    // A key kept for one market is never sent to another.
    const kept = readCredentials(config.folder).markets[url]?.[side]
    return kept ?? (sandbox !== undefined && trimmed(sandbox.url) === url ? sandbox.keys[side] : undefined)
  }

  function requireKey(side: Side): string {
    const found = key(side)
    if (found !== undefined) return found
    const ways =
      side === 'operator' ? 'set MARKET_OPERATOR_KEY' : `run "market login --side ${side}" or set ${variableOf(side)}`
    throw new CommandFailure('auth', `There is no ${side} key for ${url}: ${ways}, or name a file with --key-file.`)
  }

  function request(method: HttpMethod, path: string, { side, query = {}, ...rest }: Exchange) {
    const target = new URL((isControlPath(path) ? control : url) + path)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, String(value))
    }
    return { method, url: target.href, ...(side === undefined ? {} : { key: requireKey(side) }), ...rest }
  }

  return {
    url,
    foundIn,
    folder: config.folder,
    key,
    call: async (method, path, asked = {}) => callJson(request(method, path, asked)),
    lines: (method, path, asked = {}) => callLines(request(method, path, asked)),
    async as(side, run) {
      const key = requireKey(side)
      const { createMarketClient, clientFailure } = await import('./market-client.ts')
      try {
        return await run(createMarketClient({ url: control, key }))
      } catch (error) {
        throw clientFailure(error, { side, url: control })
      }
    },
  }
}

const variableOf = (side: Side) => `MARKET_${side.toUpperCase()}_KEY`

function isControlPath(path: string): boolean {
  return /^\/v1\/(?:seller|buyer)\//.test(path)
}

function findUrl(
  config: CliConfig,
  options: ConnectionOptions,
  sandboxUrl: string | undefined,
): { url: string; foundIn: string } {
  if (options.url !== undefined) return { url: checkUrl(options.url, '--url'), foundIn: '--url' }
  if (config.url !== undefined) return { url: checkUrl(config.url, 'MARKET_URL'), foundIn: 'MARKET_URL' }
  if (sandboxUrl !== undefined) return { url: trimmed(sandboxUrl), foundIn: config.sandboxFile }
  const { current } = readCredentials(config.folder)
  if (current !== null) return { url: checkUrl(current, 'credentials'), foundIn: 'the last login' }
  throw usageError('Which market? Pass --url or set MARKET_URL.')
}

const trimmed = (url: string) => url.replace(/\/+$/, '')

/** Keys go over https or stay on this machine. */
function checkUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw usageError(`${name} is not the address of a market: ${text.slice(0, 200)}`)
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) throw usageError(`${name} is not https.`)
  return trimmed(url.href)
}
