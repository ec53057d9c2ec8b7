import { connect } from 'node:net'

const ANSWER_MS = 10_000

/**
 * Sends a request exactly byte for byte, which no HTTP client does. Returns all bytes until the server closed the
 * connection, or an empty text when the server closed it without an answer.
 */
export function askRaw(origin: string, text: string): Promise<string> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname)
    socket.setEncoding('latin1')
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`the answer to ${text.slice(0, 100)} has no end`)))
    socket.on('data', (part: string) => {
      answer += part
    })
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
    socket.on('close', () => resolve(answer))
    socket.write(text, 'latin1')
  })
}

/** A GET with exactly this target and these header lines, on a connection that ends with the answer. */
export function rawGet(target: string, lines: readonly string[]): string {
  return `GET ${target} HTTP/1.1\r\n${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`
}

/** The status of an answer; 0 for none. */
export function statusIn(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
}
