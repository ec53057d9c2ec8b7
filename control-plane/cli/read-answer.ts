import type { z } from 'zod'
import { CommandFailure } from './failure.ts'

/** Reads an answer by a command's schema. Further fields are ignored. Throws for another shape. */
export function readAnswer<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new CommandFailure('failure', 'The answer of the market has an unknown form. Update this program.', {
    cause: parsed.error,
  })
}
