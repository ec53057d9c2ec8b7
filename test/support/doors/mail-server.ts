import type { AddressInfo } from 'node:net'
import { domainToASCII } from 'node:url'
import { SMTPServer } from 'smtp-server'
import { until } from '#test/support/run/until.ts'

/** A mail as it reached the server. */
export type ReceivedMail = {
  readonly from: string
  readonly to: readonly string[]
  /** The message as sent: headers, an empty line, the parts. */
  readonly raw: string
}

/** The reply of the server to the recipient of a mail: taken, refused for good, or not now. */
type Reply = 'taken' | 'refused' | 'busy'

const WAIT_MS = 20_000

/** A real mail server on loopback, which keeps what it gets. */
export async function startMailServer() {
  const mails: ReceivedMail[] = []
  const replies: Reply[] = []
  let attempts = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, callback) {
      attempts++
      const reply = replies.shift() ?? 'taken'
      if (reply === 'taken') return callback()
      const [responseCode, text] = reply === 'refused' ? [550, 'no such reader'] : [451, 'try later']
      callback(Object.assign(new Error(`${text} ${_address.address}`), { responseCode }))
    },
    onData(stream, session, callback) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const raw = Buffer.concat(parts).toString('utf8')
        mails.push({
          from: mailFrom === false || mailFrom === null ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => inAscii(address)),
          raw,
        })
        callback()
      })
    },
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.server.address() as AddressInfo
  const received = (to: string) => mails.filter((mail) => mail.to.includes(to))
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    mails,
    /** Attempts to name a recipient. */
    attempts: () => attempts,
    /** The replies to the next recipients. */
    reply: (...next: readonly Reply[]) => replies.push(...next),
    received,
    /** The newest mail to an address, once the address has got `count` of them. */
    async mailTo(to: string, count = 1): Promise<ReceivedMail> {
      await until(`${count} mails to a reader`, WAIT_MS, async () => received(to).length >= count)
      const mail = received(to).at(-1)
      if (mail === undefined) throw new Error('there is no mail')
      return mail
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(resolve)
      }),
  }
}
/** The server decodes an international domain, which came in ASCII. */
function inAscii(address: string): string {
  const at = address.lastIndexOf('@')
  return `${address.slice(0, at)}@${domainToASCII(address.slice(at + 1))}`
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** The headers of a mail, unfolded, by name in lower case. */
export function headersOf({ raw }: ReceivedMail): Map<string, string> {
  const [head = ''] = raw.split('\r\n\r\n', 1)
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
}

/** The plain text of a mail. */
export function textOf({ raw }: ReceivedMail): string {
  const part = raw.split(/^--.*$/m).find((one) => /content-type: text\/plain/i.test(one)) ?? ''
  const at = part.indexOf('\r\n\r\n')
  const [head, body] = [part.slice(0, at), part.slice(at + 4)]
  if (/quoted-printable/i.test(head)) {
    const bytes = body
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    return Buffer.from(bytes, 'latin1').toString('utf8')
  }
  if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8')
  return body
}
