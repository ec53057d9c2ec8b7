/** Accounts of the picture: how far each is below the list price, and the rest of its daily cap. */
const ACCOUNTS = [
  { y: 14, left: 64, below: '−10%' },
  { y: 88, left: 92, below: '−30%' },
  { y: 162, left: 38, below: '−20%' },
] as const
const BEST = 1
const LEFT = 182
const WIDTH = 150
const HEIGHT = 58
const CAP_WIDTH = 104

/** A picture of lent accounts: a call takes the lowest-priced of several keys. The text beside it says the same. */
export function LentPicture() {
  return (
    <svg className="book-picture lent-picture" viewBox="0 0 520 234" aria-hidden="true">
      <g className="paths">
        {ACCOUNTS.map(({ y }, at) => (
          <g key={y}>
            <path
              className={at === BEST ? 'best' : undefined}
              d={`M98 117 C140 117 140 ${y + HEIGHT / 2} ${LEFT - 8} ${y + HEIGHT / 2}`}
            />
            <path
              className={at === BEST ? 'best' : undefined}
              d={`M${LEFT + WIDTH + 8} ${y + HEIGHT / 2} C376 ${y + HEIGHT / 2} 376 117 418 117`}
            />
          </g>
        ))}
      </g>
      <g>
        <rect className="node" x="8" y="89" width="90" height="56" rx="12" />
        <path className="prompt" d="M26 109h38M26 125h54" />
      </g>
      {ACCOUNTS.map(({ y, left, below }, at) => (
        <g key={y} className={at === BEST ? 'account best' : 'account'}>
          <rect className="lent" x={LEFT} y={y} width={WIDTH} height={HEIGHT} rx="10" />
          <circle className="key" cx={LEFT + 26} cy={y + 22} r="7" />
          <path className="key" d={`M${LEFT + 33} ${y + 22}h24m-8 0v7m8 -7v5`} />
          <text x={LEFT + WIDTH - 16} y={y + 27} textAnchor="end">
            {below}
          </text>
          <rect className="rest" x={LEFT + 16} y={y + 41} width={CAP_WIDTH} height="6" rx="3" />
          <rect className="price" x={LEFT + 16} y={y + 41} width={left} height="6" rx="3" />
        </g>
      ))}
      <g>
        <rect className="node" x="418" y="59" width="94" height="116" rx="12" />
        {[81, 109, 137].map((y) => (
          <g key={y}>
            <path className="prompt" d={`M436 ${y + 4}h34`} />
            <circle className="lamp" cx="494" cy={y + 4} r="4" />
          </g>
        ))}
      </g>
    </svg>
  )
}
