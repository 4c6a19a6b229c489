"""What the engine says no with, in Chinese: its own English line as a pattern, and the words for it.

The engine knows nothing of languages. Values in {braces} are carried over, translated themselves
where one of these lines fits them. A line that none fits stays as the engine wrote it.
"""

ENGINE: dict[str, str] = {
    "whole numbers from {low} to {high}": "{low} 到 {high} 的整数",
    "from {low} to {high}": "{low} 到 {high}",
    "{name} is {value}, out of range; allowed: {span}": "{name} 为 {value}，超出范围；允许：{span}",
    "{name} must be a number, got {value}; allowed: {span}": "{name} 必须是数，却是 {value}；允许：{span}",
    "{name} must be a whole number, got {value}; allowed: {span}": "{name} 必须是整数，却是 {value}；允许：{span}",
    "unknown {what} {value}; allowed: {names}": "没有名为 {value} 的 {what}；允许：{names}",
    "the prompt is {n} tokens; {model} has room for {most} at most": "提示词有 {n} 个词元；{model} 最多容纳 {most} 个",
    "the lens of {model} was not fitted for {layers} layers; allowed: {allowed}": "{model} 的透镜没有为 {layers} 层拟合过；允许：{allowed}",
    "early-layers needs a lens fitted for {model}: run {command}, or choose another verifier":
        "early-layers 需要为 {model} 拟合的透镜：请运行 {command}，或改用别的验证器",
    "no fork head was trained for {model}; make one with train-head, or use another proposer":
        "{model} 没有训练过的分叉头；请用 train-head 训练一个，或改用别的提议器",
    "no lens was fitted for {model}; make one with fit-lens, or use another proposer":
        "{model} 没有拟合过的透镜；请用 fit-lens 拟合一个，或改用别的提议器",
    "no draft model was given beside {model}; name one with --draft-model, or use another proposer":
        "{model} 旁没有草稿模型；请用 --draft-model 指定一个，或改用别的提议器",
    "the sweep has no value for {name}; choose at least one": "扫描没有选 {name} 的值；请至少选一个",
    "the sweep has {n} cells; allowed: at most {most}": "扫描有 {n} 格；最多允许 {most} 格",
    "not a SPORK trace: {why}": "这不是 SPORK 的轨迹：{why}",
    "the first line is not a run_started event": "第一行不是 run_started 事件",
    "damaged trace: {why}": "轨迹已损坏：{why}",
    "it is empty": "文件是空的",
    "line {n} is not JSON": "第 {n} 行不是 JSON",
    "this trace has schema {schema}, newer than the {known} this SPORK reads; update SPORK to open it":
        "这份轨迹的格式版本是 {schema}，比本 SPORK 能读的 {known} 新；请更新 SPORK",
    "only a greedy run can be judged at another tau: the noise of a sampled one is not in its trace":
        "只有贪婪的运行能用别的 τ 重新评判：采样的随机数不在轨迹里",
}  # fmt: skip
