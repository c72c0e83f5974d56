import * as React from 'react';

/** Names and values, one pair a row. */
export function FactsTable(props: { lines: [string, React.ReactNode][]; label?: string }): React.ReactElement {
  return (
    <table className="jp-reclaim-Facts" aria-label={props.label}>
      <tbody>
        {props.lines.map(([name, value], index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
