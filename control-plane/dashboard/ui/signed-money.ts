import type { Micro } from '#control-plane/dashboard/data/format.ts'
import { exactMoney, toMicro } from '#control-plane/dashboard/data/format.ts'

/** The change of a balance to the micro-dollar, with its sign. */
export function signedMoney(micro: Micro): string {
  return `${toMicro(micro) > 0n ? '+' : ''}${exactMoney(micro)}`
}
