import type { DestinationStream, LevelWithSilent, Logger } from 'pino'
import { pino } from 'pino'
import { AppError, describeCause, redact } from './errors.ts'

export type { Logger } from 'pino'
export type LogLevel = LevelWithSilent

/** Levels a plane's configuration may name. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/**
 * A logger of JSON lines under a name. Errors are written through an allow-list: the name, code and first line of the
 * error and of its cause, with what looks like a secret hidden, plus the stack of a stranger. Nothing else of an error
 * object is ever read, so headers and bodies that clients hang on their errors stay out.
 */
export function createLogger(name: string, level: LogLevel, stream?: DestinationStream): Logger {
  const options = { name, level, serializers: { err: describeError, error: describeError } }
  return stream ? pino(options, stream) : pino(options)
}

/** What of an error a log line holds. */
export function describeError(thrown: unknown): Record<string, unknown> {
  if (thrown instanceof AppError) {
    return { name: thrown.name, code: thrown.code, message: redact(thrown.message), cause: describeCause(thrown.cause) }
  }
  const described = describeCause(thrown) ?? { name: 'undefined' }
  return thrown instanceof Error ? { ...described, stack: framesOf(thrown) } : described
}

const MAX_FRAMES = 8

/** Where it was thrown, without the message that a stack begins with. */
function framesOf(error: Error): string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim())
}
