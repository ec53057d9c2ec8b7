import { join } from 'node:path'
import { Secret } from '#shared/secret.ts'

/** The sides whose keys a call can carry. */
export const SIDES = ['buyer', 'seller', 'operator'] as const
export type Side = (typeof SIDES)[number]

/** The settings from the environment. No other part of the program reads it. */
export type CliConfig = {
  /** The market's address: `https://…`. */
  readonly url: string | undefined
  /** The control plane's address, when it has one of its own. */
  readonly controlUrl: string | undefined
  readonly keys: Readonly<Partial<Record<Side, Secret>>>
  /** The folder of the credentials file. */
  readonly folder: string
  /** The file of a market that runs on this machine for development. */
  readonly sandboxFile: string
  readonly allowsColor: boolean
  /** The width of a line in cells, if the terminal does not report one. */
  readonly columns: number | undefined
}

type Variables = Readonly<Record<string, string | undefined>>

/** The variables, for help and the reference page. */
export const VARIABLES = {
  MARKET_URL: 'Address of the market. `--url` wins over it.',
  MARKET_CONTROL_URL: 'Address of the control plane, if it differs.',
  MARKET_BUYER_KEY: 'Key of a buyer.',
  MARKET_SELLER_KEY: 'Key of a seller.',
  MARKET_OPERATOR_KEY: 'Management key of an operator.',
  MARKET_CONFIG_DIR: 'Folder of `credentials.json`; default `~/.config/market`.',
  MARKET_HOME: 'Folder of a market on this machine, with its `sandbox.json`; default `.market`.',
  NO_COLOR: 'Any value turns colours off.',
} as const

export function readCliConfig(environment: Variables = process.env): CliConfig {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined
  const secret = (name: string): Secret | undefined => {
    const text = read(name)
    return text === undefined ? undefined : new Secret(text)
  }
  const [buyer, seller] = [secret('MARKET_BUYER_KEY'), secret('MARKET_SELLER_KEY')]
  const operator = secret('MARKET_OPERATOR_KEY')
  const base = read('XDG_CONFIG_HOME') ?? join(read('HOME') ?? '.', '.config')
  const columns = Number(read('COLUMNS'))
  return {
    url: read('MARKET_URL'),
    controlUrl: read('MARKET_CONTROL_URL'),
    keys: { ...(buyer && { buyer }), ...(seller && { seller }), ...(operator && { operator }) },
    folder: read('MARKET_CONFIG_DIR') ?? join(base, 'market'),
    sandboxFile: join(read('MARKET_HOME') ?? '.market', 'sandbox.json'),
    allowsColor: read('NO_COLOR') === undefined && read('TERM') !== 'dumb',
    columns: Number.isSafeInteger(columns) && columns > 0 ? columns : undefined,
  }
}

/** Reads the variable that an option such as `--key-env` names. */
export function readSecretVariable(name: string, environment: Variables = process.env): Secret | undefined {
  const text = environment[name]?.trim()
  return text === undefined || text === '' ? undefined : new Secret(text)
}
