import type { DestinationStream, LevelWithSilent, Logger } from 'pino'
import { pino } from 'pino'
import { AppError, describeCause, redact } from './errors.ts'
import { isOutage } from './transient.ts'

export type { Logger } from 'pino'
export type LogLevel = LevelWithSilent

/** The log levels that a plane's configuration may name. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/**
 * Writes JSON lines under a name. Of an error it writes the name, code and first line, the same of its cause, and the
 * stack of a foreign error, unless a busy or absent server explains it. Text that looks like a secret is hidden. No
 * other field of an error is read, because clients of HTTP attach headers and bodies to their errors.
 */
export function createLogger(name: string, level: LogLevel, stream?: DestinationStream): Logger {
  const options = { name, level, serializers: { err: describeError, error: describeError } }
  return stream ? pino(options, stream) : pino(options)
}

/** The fields of an error that a log line holds. */
export function describeError(thrown: unknown): Record<string, unknown> {
  if (thrown instanceof AppError) {
    return { name: thrown.name, code: thrown.code, message: redact(thrown.message), cause: describeCause(thrown.cause) }
  }
  const described = describeCause(thrown) ?? { name: 'undefined' }
  return thrown instanceof Error && !isOutage(thrown) ? { ...described, stack: framesOf(thrown) } : described
}

const MAX_FRAMES = 8

/** The frames of the stack, without the message in front of them. */
function framesOf(error: Error): string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim())
}
