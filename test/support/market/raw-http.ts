import { connect } from 'node:net'

const ANSWER_MS = 10_000

/**
 * Sends a request byte for byte as it is written, which no HTTP client does. Returns everything that came until the
 * server closed the connection; empty when it closed without a word.
 */
export function askRaw(origin: string, text: string): Promise<string> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname)
    socket.setEncoding('latin1')
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`no end of an answer to ${text.slice(0, 100)}`)))
    socket.on('data', (part: string) => {
      answer += part
    })
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
    socket.on('close', () => resolve(answer))
    socket.write(text, 'latin1')
  })
}

/** A GET whose target and header lines are exactly these, on a connection that ends with the answer. */
export function rawGet(target: string, lines: readonly string[]): string {
  return `GET ${target} HTTP/1.1\r\n${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`
}

/** The status of an answer; 0 for none. */
export function statusIn(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
}
