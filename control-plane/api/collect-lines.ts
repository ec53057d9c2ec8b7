/** Lines of a stream as one list, for the doors that answer once. Operations bound how many there are. */
export async function collectLines<Line>(lines: AsyncIterable<Line>): Promise<Line[]> {
  const collected: Line[] = []
  for await (const line of lines) collected.push(line)
  return collected
}
