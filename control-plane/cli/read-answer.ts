import type { z } from 'zod'
import { CommandFailure } from './failure.ts'

/** An answer in the shape that a command reads; more fields do not matter. Throws for another shape. */
export function readAnswer<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new CommandFailure('failure', 'The service answered in a form that this program does not know.', {
    cause: parsed.error,
  })
}
