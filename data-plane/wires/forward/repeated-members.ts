/**
 * Finds a member that an object in a JSON text names twice, at any depth. JSON.parse takes the last of the two and a
 * provider may take the first, so the meaning of such a text is ambiguous. The text must be valid JSON.
 */
export function findRepeatedMember(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = []
  let isName = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case OPEN_OBJECT:
        open.push(new Set())
        isName = true
        break
      case OPEN_LIST:
        open.push(undefined)
        isName = false
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        open.pop()
        isName = false
        break
      case COMMA:
        isName = open.at(-1) !== undefined
        break
      case COLON:
        isName = false
        break
      case QUOTE: {
        const end = stringEnd(text, at)
        const names = open.at(-1)
        if (isName && names !== undefined) {
          const name = nameIn(text.slice(at, end + 1))
          if (names.has(name)) return name
          names.add(name)
        }
        at = end
        break
      }
    }
  }
  return undefined
}

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_LIST = 91
const BACKSLASH = 92
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** The place of the quote that ends the string beginning at `start`. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end >= 0) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    // An even number of backslashes before the quote leaves it unescaped.
    if ((end - before) % 2 === 1) return end
    end = text.indexOf('"', end + 1)
  }
  return text.length
}

function nameIn(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
}
