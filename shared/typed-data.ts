import { z } from 'zod'
import { asWritten } from './field-names.ts'

/** Data for a wallet's signature (EIP-712). */
export const TypedData = z.record(z.string(), z.unknown())

/** Reads data of EIP-712 from its text. Its names stay as they are, because that standard names them. */
export function readTypedData(text: string): z.output<typeof TypedData> {
  return asWritten(TypedData.parse(JSON.parse(text)))
}
