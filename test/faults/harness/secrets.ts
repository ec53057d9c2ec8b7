import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from './process.ts'

/** Secrets of one world. No output of the world may contain any of them. */
export type WorldSecrets = {
  readonly environment: Environment & { readonly CREDENTIAL_KEYS: string }
  readonly all: Map<string, string>
}

export function makeSecrets(): WorldSecrets {
  const random = () => randomBytes(32).toString('base64')
  const ring = random()
  const environment = {
    CREDENTIAL_KEYS: `k1:${ring}`,
    KEY_PEPPER: random(),
    FINGERPRINT_PEPPER: random(),
    SESSION_SECRET: random(),
  }
  const all = new Map<string, string>(Object.entries(environment))
  all.set('CREDENTIAL_KEYS', ring)
  return { environment, all }
}

const UNHANDLED =
  /UnhandledPromiseRejection|unhandledRejection|a rejection was not handled|triggerUncaughtException|uncaughtException/

/** Finds secrets, by their names, and unhandled rejections in the logs of a folder. */
export function readLogs(folder: string, secrets: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = []
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (!statSync(file).isFile()) continue
    const text = readFileSync(file, 'utf8')
    wrong.push(...findSecrets(name, text, secrets))
    const found = UNHANDLED.exec(text)
    if (found) wrong.push(`${name}: ${text.slice(Math.max(0, found.index - 100), found.index + 300)}`)
  }
  return wrong
}

export function findSecrets(where: string, text: string, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => `${where} shows ${name}`)
}
