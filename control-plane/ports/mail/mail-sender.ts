/** A mail to one reader. `to` is a normalised address. */
export type Mail = {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Takes a POST and stops such mails (RFC 8058). Absent for a mail that its reader asked for. */
  readonly unsubscribeUrl?: string | undefined
}

/**
 * The result of an attempt. A refusal is the server's last word; an unreachable server may take the mail later. A
 * reason has codes only: texts of mail servers often repeat the address.
 */
export type MailAnswer =
  | { readonly kind: 'sent' }
  | { readonly kind: 'refused' | 'unreachable'; readonly reason: string }

/** Sends once. Never throws, but for a mail with line breaks in a head, which is a fault of the program. */
export type MailSender = (mail: Mail) => Promise<MailAnswer>

/** Mail of a market that has a mail server. */
export type MailParts = {
  readonly send: MailSender
  /** Queues a mail, which is dropped when it was not sent by `until` (Unix ms). Throws while Redis is away. */
  readonly post: (mail: Mail, until: number) => Promise<void>
}
