/** Collects the lines of a stream for doors that answer once. Operations bound their number. */
export async function collectLines<Line>(lines: AsyncIterable<Line>): Promise<Line[]> {
  const collected: Line[] = []
  for await (const line of lines) collected.push(line)
  return collected
}
