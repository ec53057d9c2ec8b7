/** The ways in which a run ends, for scripts. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'Success.' },
  failure: { code: 1, meaning: 'The market refused, or something went wrong.' },
  usage: { code: 2, meaning: 'The command line is wrong. Nothing was sent.' },
  auth: { code: 3, meaning: 'No key, a wrong key, or a key without the permission.' },
  notFound: { code: 4, meaning: 'Not found.' },
  unavailable: { code: 5, meaning: 'The market is out of reach or at a limit. Try again later.' },
  partial: { code: 6, meaning: 'A part failed. The rest is done.' },
  declined: { code: 7, meaning: 'You did not confirm. Nothing changed.' },
} as const
export type ExitName = keyof typeof EXIT_CODES

type Facts = {
  /** The service's code, when the service answered. */
  readonly code?: string
  readonly requestId?: string
  readonly status?: number
  readonly param?: string
  /** Seconds until another try may work. */
  readonly retryAfter?: number
  readonly cause?: unknown
}

/** The failure of a command. The message is for a person, the rest for scripts. */
export class CommandFailure extends Error {
  readonly exit: ExitName
  readonly facts: Facts

  constructor(exit: ExitName, message: string, facts: Facts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.name = 'CommandFailure'
    this.exit = exit
    this.facts = facts
  }
}

/** A mistake on the command line. */
export function usageError(message: string): CommandFailure {
  return new CommandFailure('usage', message)
}

/** Codes whose status comes from a provider's server and not from this service. */
const NOT_OURS = new Set(['provider_probe_failed', 'upstream_error', 'upstream_rejected'])

/** The exit that fits such an answer of the service. */
export function exitOfStatus(status: number, code?: string | null): ExitName {
  if (code != null && NOT_OURS.has(code)) return 'failure'
  if (status === 401 || status === 403) return 'auth'
  if (status === 404 || status === 410) return 'notFound'
  if (status === 429 || status >= 500) return 'unavailable'
  return 'failure'
}
