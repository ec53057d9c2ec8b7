import type { Command, CommandTable } from './command.ts'
import { COMMON_OPTIONS, splitName } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The words that may follow a sequence of words, with their descriptions, and the options. */
type Place = { readonly path: string; readonly words: readonly Word[]; readonly options: readonly Word[] }
type Word = { readonly word: string; readonly text: string }

function places({ groups, commands }: CommandTable): Place[] {
  const all = [...groups, ...commands]
  const paths = ['', ...groups.map(({ name }) => name)]
  return [
    ...paths.map((path) => ({
      path,
      words: all
        .filter(({ name }) => splitName(name).parent === path)
        .map(({ name, summary }) => ({ word: splitName(name).word, text: summary })),
      options: [{ word: '--help', text: 'show help' }],
    })),
    ...commands.map((command) => ({ path: command.name, words: [], options: optionsOf(command) })),
  ]
}

function optionsOf({ options = [] }: Command): Word[] {
  const all = [...options, ...COMMON_OPTIONS, { flags: '--help', text: 'show help' }]
  return all.map(({ flags, text }) => ({ word: /--[a-z-]+/.exec(flags)?.[0] ?? flags, text }))
}

/** Writes a script that teaches a shell the commands and options. The script asks no server. */
export function completionScript(shell: Shell, table: CommandTable): string {
  return SCRIPTS[shell](places(table))
}

const SCRIPTS: { readonly [S in Shell]: (all: readonly Place[]) => string } = { bash, zsh, fish }

const words = (list: readonly Word[]) => list.map(({ word }) => word).join(' ')

function bash(all: readonly Place[]): string {
  const rows = all.map(
    ({ path, words: next, options }) => `    '${path}') next='${words(next)}' options='${words(options)}' ;;`,
  )
  return `# bash completion of market: source <(market completion bash)
_market() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' word next options
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    _market_place "\${path:+$path }$word" && path="\${path:+$path }$word"
  done
  _market_place "$path"
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $next ]]; then COMPREPLY=($(compgen -W "$next" -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current")); fi
}
_market_place() {
  next='' options=''
  case "$1" in
${rows.join('\n')}
    *) return 1 ;;
  esac
}
complete -o filenames -F _market market
`
}

const zshQuoted = ({ word, text }: Word) => `'${word}:${text.replaceAll("'", '’').replaceAll(':', '\\:')}'`

function zsh(all: readonly Place[]): string {
  const rows = all.map(
    ({ path, words: next, options }) =>
      `    '${path}') next=(${next.map(zshQuoted).join(' ')}) options=(${options.map(zshQuoted).join(' ')}) ;;`,
  )
  return `#compdef market
# zsh completion of market: source <(market completion zsh)
_market_place() {
  next=() options=()
  case "$1" in
${rows.join('\n')}
    *) return 1 ;;
  esac
}
_market() {
  local place='' word
  local -a next options
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* ]] && continue
    _market_place "\${place:+$place }$word" && place="\${place:+$place }$word"
  done
  _market_place "$place"
  if [[ \${words[CURRENT]} == -* ]]; then _describe option options
  elif (( \${#next} )); then _describe command next
  else _files; fi
}
compdef _market market
`
}

function fish(all: readonly Place[]): string {
  const lines = all.flatMap(({ path, words: next, options }) => {
    const condition = `-n "__market_at '${path}'"`
    const quoted = (text: string) => `'${text.replaceAll("'", '’')}'`
    return [
      ...next.map(({ word, text }) => `complete -c market -f ${condition} -a ${word} -d ${quoted(text)}`),
      ...options.map(({ word, text }) => `complete -c market ${condition} -l ${word.slice(2)} -d ${quoted(text)}`),
    ]
  })
  const known = all.map(({ path }) => `'${path}'`).join(' ')
  return `# fish completion of market: market completion fish | source
set -g __market_places ${known}
function __market_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l longer (string trim -- "$place $word")
    contains -- "$longer" $__market_places; and set place $longer
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`
}
