import { createTransport } from 'nodemailer'
import { z } from 'zod'
import { SECOND } from '#shared/clock.ts'
import { isLoopbackHost } from '#shared/outbound-guard.ts'
import type { Secret } from '#shared/secret.ts'
import { isOneLine } from '#shared/texts.ts'
import type { Mail, MailSender } from './mail-sender.ts'

const CONNECT_TIMEOUT_MS = 5 * SECOND
/** Longest silence of the server within a mail. */
const SILENCE_TIMEOUT_MS = 10 * SECOND
const TOTAL_TIMEOUT_MS = 20 * SECOND
const MAX_CONNECTIONS = 2
/** Mails of one connection. Servers close a connection that sends many. */
const MAX_MAILS_PER_CONNECTION = 100
const MAX_REPLY_BYTES = 64 * 1_024
/** Replies from here on are final (RFC 5321, section 4.2.1). */
const FINAL_REPLY = 500

/** The sender of all mails. */
export type MailFrom = { readonly name: string; readonly address: string }

/**
 * A sender with one pool of connections to a mail server, `smtp://` or `smtps://`. A server on another machine has to
 * offer TLS: links that sign in never travel in the clear. `close` ends the connections.
 */
export function createSmtpMailSender(url: Secret, from: MailFrom): { send: MailSender; close(): void } {
  const { protocol, hostname, port, username, password } = new URL(url.reveal())
  const isSecure = protocol === 'smtps:'
  const transport = createTransport({
    pool: true,
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port: Number(port) }),
    secure: isSecure,
    requireTLS: !isSecure && !isLoopbackHost(hostname),
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    maxConnections: MAX_CONNECTIONS,
    maxMessages: MAX_MAILS_PER_CONNECTION,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    maxResponseSize: MAX_REPLY_BYTES,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  })
  const late = { kind: 'unreachable', reason: 'ETIMEDOUT' } as const
  return {
    async send(mail) {
      requirePlainHeads(mail)
      const { to, subject, text, html, unsubscribeUrl } = mail
      const attempt = transport
        .sendMail({
          from,
          to: { name: '', address: to },
          envelope: { from: from.address, to: [to] },
          subject,
          text,
          html,
          ...(unsubscribeUrl !== undefined && { headers: headsOf(unsubscribeUrl) }),
        })
        .then(() => ({ kind: 'sent' }) as const, answerOf)
      let timer: NodeJS.Timeout | undefined
      const limit = new Promise<typeof late>((resolve) => {
        timer = setTimeout(() => resolve(late), TOTAL_TIMEOUT_MS)
      })
      return Promise.race([attempt, limit]).finally(() => clearTimeout(timer))
    },
    close: () => transport.close(),
  }
}

/** The headers of a mail that its reader may stop with one click (RFC 8058). */
function headsOf(unsubscribeUrl: string): Record<string, string> {
  return { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
}

/** An address with nothing that a header or a command of SMTP reads as more than one address. */
const BARE_ADDRESS = /^[^\s<>()[\]\\,;:"@]+@[^\s<>()[\]\\,;:"@]+$/

/** Throws an Error for a text that would become more than its own header. */
function requirePlainHeads({ to, subject, unsubscribeUrl = '' }: Mail): void {
  if (!BARE_ADDRESS.test(to) || ![to, subject, unsubscribeUrl].every(isOneLine) || /[\s<>]/.test(unsubscribeUrl)) {
    throw new Error('a head of a mail is not one line')
  }
}

const Failure = z.object({
  code: z
    .string()
    .regex(/^[A-Z_]{2,30}$/)
    .catch('error'),
  responseCode: z.number().int().optional().catch(undefined),
})

/** The codes of a failure. Its message may repeat the address, so it is dropped. */
function answerOf(error: unknown): { readonly kind: 'refused' | 'unreachable'; readonly reason: string } {
  const { code, responseCode } = Failure.parse(error instanceof Error ? error : {})
  const reason = responseCode === undefined ? code : `${code} ${responseCode}`
  // A refused login is a fault of the settings, which an operator mends.
  const isFinal = responseCode !== undefined && responseCode >= FINAL_REPLY && code !== 'EAUTH'
  return { kind: isFinal ? 'refused' : 'unreachable', reason }
}
